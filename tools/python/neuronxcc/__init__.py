"""The import name of the generation of the interface that returns results; see ncemu.nki."""
