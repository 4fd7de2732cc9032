/* cuda-entries.c: the entry points of the CUDA driver, and what stc does without those that a driver lacks. */
#include "driver/device/cuda.h"

#include <dlfcn.h>
#include <string.h>

/* The required entry points, and the members that hold them. */
static const GpuEntry entries[] = {
    {"cuInit", offsetof(CudaState, cu.init)},
    {"cuGetErrorName", offsetof(CudaState, cu.error_name)},
    {"cuGetErrorString", offsetof(CudaState, cu.error_string)},
    {"cuDeviceGetCount", offsetof(CudaState, cu.device_count)},
    {"cuDeviceGet", offsetof(CudaState, cu.device_get)},
    {"cuDeviceGetName", offsetof(CudaState, cu.device_name)},
    {"cuDeviceGetAttribute", offsetof(CudaState, cu.device_attribute)},
    {"cuDeviceTotalMem_v2", offsetof(CudaState, cu.total_memory)},
    {"cuDevicePrimaryCtxRetain", offsetof(CudaState, cu.context_retain)},
    {"cuDevicePrimaryCtxRelease_v2", offsetof(CudaState, cu.context_release)},
    {"cuCtxSetCurrent", offsetof(CudaState, cu.context_set)},
    {"cuCtxSynchronize", offsetof(CudaState, gpu.call.synchronize)},
    {"cuMemGetInfo_v2", offsetof(CudaState, gpu.call.memory_info)},
    {"cuMemAlloc_v2", offsetof(CudaState, gpu.call.memory_alloc)},
    {"cuMemFree_v2", offsetof(CudaState, gpu.call.memory_free)},
    {"cuMemcpyHtoD_v2", offsetof(CudaState, gpu.call.copy_in)},
    {"cuMemcpyDtoH_v2", offsetof(CudaState, gpu.call.copy_out)},
    {"cuMemcpyDtoDAsync_v2", offsetof(CudaState, gpu.call.copy_within)},
    {"cuModuleLoadDataEx", offsetof(CudaState, cu.module_load)},
    {"cuModuleUnload", offsetof(CudaState, gpu.call.module_unload)},
    {"cuModuleGetFunction", offsetof(CudaState, gpu.call.module_function)},
    {"cuFuncSetAttribute", offsetof(CudaState, cu.function_attribute)},
    {"cuFuncGetAttribute", offsetof(CudaState, gpu.call.function_info)},
    {"cuLaunchKernel", offsetof(CudaState, gpu.call.launch)},
    {"cuStreamCreate", offsetof(CudaState, gpu.call.stream_create)},
    {"cuStreamDestroy_v2", offsetof(CudaState, gpu.call.stream_destroy)},
    {"cuStreamWaitEvent", offsetof(CudaState, gpu.call.stream_wait)},
    {"cuStreamSynchronize", offsetof(CudaState, gpu.call.stream_synchronize)},
    {"cuPointerGetAttribute", offsetof(CudaState, cu.pointer_attribute)},
    {"cuEventCreate", offsetof(CudaState, gpu.call.event_create)},
    {"cuEventDestroy_v2", offsetof(CudaState, gpu.call.event_destroy)},
    {"cuEventRecord", offsetof(CudaState, gpu.call.event_record)},
    {"cuEventSynchronize", offsetof(CudaState, gpu.call.event_synchronize)},
    {"cuEventElapsedTime", offsetof(CudaState, gpu.call.event_elapsed)},
};

/* Entry points for CUDA graphs: CUDA 11.4 and later. If one is missing, launches are not recorded. */
static const GpuEntry graph_entries[] = {
    {"cuStreamBeginCapture_v2", offsetof(CudaState, cu.capture_begin)},
    {"cuStreamEndCapture", offsetof(CudaState, cu.capture_end)},
    {"cuGraphInstantiateWithFlags", offsetof(CudaState, cu.graph_instantiate)},
    {"cuGraphLaunch", offsetof(CudaState, cu.graph_launch)},
    {"cuGraphDestroy", offsetof(CudaState, cu.graph_destroy)},
    {"cuGraphExecDestroy", offsetof(CudaState, cu.executable_destroy)},
    {"cuMemcpy3DAsync_v2", offsetof(CudaState, cu.copy_3d)},
};

/* Entry points for graphs whose launches change: CUDA 12. If one is missing, launches that take the step are not
 * recorded. */
static const GpuEntry update_entries[] = {
    {"cuGraphExecUpdate_v2", offsetof(CudaState, cu.graph_update)},
};

/* Entry points that set the step of a graph's launches: CUDA 12. If one is missing, such launches are recorded again.
 */
static const GpuEntry node_entries[] = {
    {"cuGraphGetNodes", offsetof(CudaState, cu.graph_nodes)},
    {"cuGraphNodeGetType", offsetof(CudaState, cu.node_type)},
    {"cuGraphKernelNodeGetParams_v2", offsetof(CudaState, cu.node_get)},
    {"cuGraphExecKernelNodeSetParams_v2", offsetof(CudaState, cu.node_set)},
};

/* Entry points for graphs that repeat launches by themselves: CUDA 12.4. If one is missing, the host decides. */
static const GpuEntry loop_entries[] = {
    {"cuGraphCreate", offsetof(CudaState, cu.graph_create)},
    {"cuGraphConditionalHandleCreate", offsetof(CudaState, cu.condition_new)},
    {"cuGraphAddNode_v2", offsetof(CudaState, cu.node_add)},
    {"cuStreamBeginCaptureToGraph", offsetof(CudaState, cu.capture_into)},
    {"cuDriverGetVersion", offsetof(CudaState, cu.driver_version)},
};

/* Entry points for copies between devices. If one is missing, copies go by way of the host. */
static const GpuEntry peer_entries[] = {
    {"cuDeviceCanAccessPeer", offsetof(CudaState, cu.can_access)},
    {"cuCtxEnablePeerAccess", offsetof(CudaState, cu.enable_access)},
    {"cuMemcpyPeerAsync", offsetof(CudaState, cu.copy_peer)},
    {"cuMemcpy3DPeerAsync", offsetof(CudaState, cu.copy_peer_3d)},
    {"cuStreamCreateWithPriority", offsetof(CudaState, cu.stream_create)},
    {"cuEventQuery", offsetof(CudaState, cu.event_query)},
    {"cuDeviceGetUuid", offsetof(CudaState, cu.device_uuid)},
};

/* Entry points for copies to the host beside launches. If one is missing, launches wait for the copies. */
static const GpuEntry stage_entries[] = {
    {"cuMemHostAlloc", offsetof(CudaState, cu.host_alloc)},
    {"cuMemFreeHost", offsetof(CudaState, gpu.call.host_free)},
    {"cuMemHostRegister_v2", offsetof(CudaState, cu.host_register)},
    {"cuMemHostUnregister", offsetof(CudaState, cu.host_unregister)},
    {"cuMemcpyDtoHAsync_v2", offsetof(CudaState, gpu.call.copy_out_async)},
    {"cuMemcpyHtoDAsync_v2", offsetof(CudaState, cu.copy_in_async)},
};

/* Entry points for copies between devices of several processes. If one is missing, copies go by way of the host. */
static const GpuEntry key_entries[] = {
    {"cuIpcGetMemHandle", offsetof(CudaState, cu.key_get)},
    {"cuIpcOpenMemHandle_v2", offsetof(CudaState, cu.key_open)},
    {"cuIpcCloseMemHandle", offsetof(CudaState, cu.key_close)},
    {"cuStreamWriteValue32_v2", offsetof(CudaState, cu.value_write)},
    {"cuStreamWaitValue32_v2", offsetof(CudaState, cu.value_wait)},
};

/* Entry points for circular memory. If one is missing, there is no circular memory. */
static const GpuEntry circle_entries[] = {
    {"cuMemGetAllocationGranularity", offsetof(CudaState, cu.physical_step)},
    {"cuMemCreate", offsetof(CudaState, cu.physical_new)},
    {"cuMemRelease", offsetof(CudaState, cu.physical_free)},
    {"cuMemAddressReserve", offsetof(CudaState, cu.reserve)},
    {"cuMemAddressFree", offsetof(CudaState, cu.unreserve)},
    {"cuMemMap", offsetof(CudaState, cu.map)},
    {"cuMemUnmap", offsetof(CudaState, cu.unmap)},
    {"cuMemSetAccess", offsetof(CudaState, cu.allow)},
};

/* Entry points for launches that begin early. If one is missing, no launch begins early. */
static const GpuEntry early_entries[] = {
    {"cuDriverGetVersion", offsetof(CudaState, cu.driver_version)},
    {"cuLaunchKernelEx", offsetof(CudaState, cu.launch_with)},
};

/* The entry point that loads kernels onto the device: CUDA 12.4. If it is missing, the first launch of each kernel
 * loads it. */
static const GpuEntry load_entries[] = {
    {"cuFuncLoad", offsetof(CudaState, cu.function_load)},
};

/* Entry points for libraries, which the driver compiles in parallel: CUDA 12. If one is missing, the driver compiles
 * one module after the other. */
static const GpuEntry library_entries[] = {
    {"cuLibraryLoadData", offsetof(CudaState, cu.library_load)},
    {"cuLibraryGetModule", offsetof(CudaState, cu.library_module)},
    {"cuLibraryUnload", offsetof(CudaState, cu.library_unload)},
};

/* A group of entry points that drivers may lack. If the driver lacks one, member `of` is set to NULL, which shows it.
 */
#define GROUP(list, of) {list, sizeof list / sizeof *list, offsetof(CudaState, of)}
static const struct EntryGroup {
  const GpuEntry *entries;
  size_t n, of;
} groups[] = {
    GROUP(graph_entries, cu.capture_begin), GROUP(update_entries, cu.graph_update),
    GROUP(node_entries, cu.node_set),       GROUP(loop_entries, cu.capture_into),
    GROUP(peer_entries, cu.copy_peer),      GROUP(stage_entries, gpu.call.copy_out_async),
    GROUP(key_entries, cu.key_get),         GROUP(circle_entries, cu.physical_step),
    GROUP(early_entries, cu.launch_with),   GROUP(library_entries, cu.library_load),
    GROUP(load_entries, cu.function_load),
};

const char *cuda_find_library(CudaState *s) {
  static void (*const none)(void);
  void *library = s->gpu.library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library)
    return "libcuda.so.1 is not there: install NVIDIA's driver, or use --device=host or sim";
  if (!gpu_find_entries(library, entries, sizeof entries / sizeof entries[0], s))
    return "libcuda.so.1 lacks an entry point that CUDA 11 and later have: update NVIDIA's driver";
  for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
    if (!gpu_find_entries(library, groups[i].entries, groups[i].n, s))
      memcpy((char *)s + groups[i].of, &none, sizeof none);
  return NULL;
}
