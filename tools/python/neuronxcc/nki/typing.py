"""neuronxcc.nki.typing: annotations; they say nothing at run time."""


class _Annotation:
    def __init__(self, name):
        self.name = name

    def __getitem__(self, shape):
        return self

    def __call__(self, *args, **kwargs):
        return self

    def __or__(self, other):
        return self

    __ror__ = __or__

    def __repr__(self):
        return self.name


tensor = _Annotation("tensor")
mutable_tensor = _Annotation("mutable_tensor")
scalar = _Annotation("scalar")
