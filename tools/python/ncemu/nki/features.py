"""The table of supported names per generation, made from the modules themselves: python3 -m ncemu.nki.features.

The names are those that public kernels use (a census of 749), most used first. `refused` says why a name raises.
"""

import importlib

NAMES = {
    "language": """
        ndarray zeros ones full zeros_like empty_like load store load_transpose2d affine_range sequential_range static_range
        dynamic_range fori_loop while_loop par_dim arange mgrid ds tile_size program_id num_programs program_ndim nc spmd_dim
        copy add subtract multiply divide maximum minimum power mod matmul transpose broadcast_to where sum max min mean var
        prod all softmax rms_norm exp log sqrt rsqrt square reciprocal negative abs sign floor ceil sigmoid relu silu silu_dx
        gelu gelu_dx gelu_apprx_tanh gelu_apprx_sigmoid tanh sin cos arctan erf erf_dx softplus mish equal not_equal greater
        greater_equal less less_equal logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor invert
        left_shift right_shift shared_constant shared_identity_matrix loop_reduce gather_flattened rand random_seed dropout
        static_cast cast device_print finfo atomic_rmw""",
    "isa": """
        dma_copy tensor_copy tensor_tensor tensor_scalar scalar_tensor_tensor activation activation_reduce tensor_reduce
        tensor_scalar_reduce tensor_scalar_cumulative reciprocal nc_matmul nc_transpose memset iota affine_select
        tensor_tensor_scan select_reduce range_select tensor_copy_predicated bn_stats bn_aggr max8 nc_find_index8
        nc_match_replace8 tensor_partition_reduce local_gather nc_n_gather sequence_bounds nonzero_with_count
        nc_stream_shuffle dma_transpose dma_compute dropout rng get_nc_version register_alloc register_load register_move
        register_store nc_matmul_mx quantize_mx sendrecv core_barrier tensor_copy_dynamic_src""",
}
PACKAGES = ("neuronxcc.nki", "nki")


def state(package, module, name):
    """yes, no, or why a name refuses."""
    found = getattr(importlib.import_module(f"{package}.{module}"), name, None)
    if found is None:
        return "no"
    return getattr(found, "refused", None) or "yes"


def table():
    lines = []
    for module, names in NAMES.items():
        lines += [f"| `{module}` | neuronxcc.nki | nki |", "|---|---|---|"]
        rows = {}
        for name in names.split():
            rows.setdefault(tuple([state(package, module, name) for package in PACKAGES]), []).append(f"`{name}`")
        lines += [f"| {' '.join(names)} | {old} | {new} |" for (old, new), names in rows.items()]
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
