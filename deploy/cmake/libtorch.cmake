# LibTorch, NCCL and the CUDA runtime out of the torch wheel, as imported targets. It configures in
# a second, needs no CUDA toolkit, and the same binary runs with and without a GPU.
# find_package(Torch) wants a system CUDA toolkit and links everything.
file(GLOB site_packages ${TRAINCTL_TOOLCHAIN}/lib/python3*/site-packages)
set(torch ${site_packages}/torch)
set(nvidia ${site_packages}/nvidia)
if(NOT EXISTS ${torch}/lib/libtorch_cpu.so)
  message(FATAL_ERROR "no LibTorch in '${TRAINCTL_TOOLCHAIN}': "
    "run deploy/setup, or name one with -DTRAINCTL_TOOLCHAIN=DIR")
endif()

set(CMAKE_CUDA_COMPILER ${nvidia}/cu13/bin/nvcc)
set(CMAKE_CUDA_STANDARD 17)
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90a-real 90-virtual)
endif()
# nvcc looks for its runtime in lib64; the wheels have it in lib.
set(CMAKE_CUDA_FLAGS_INIT "-Wno-deprecated-gpu-targets -L${nvidia}/cu13/lib")
enable_language(CUDA)

set(torch_includes ${torch}/include ${torch}/include/torch/csrc/api/include
  ${nvidia}/cu13/include ${nvidia}/nccl/include)
set(torch_rpath ${torch}/lib ${nvidia}/cu13/lib ${nvidia}/nccl/lib ${nvidia}/cudnn/lib
  ${nvidia}/cusparselt/lib ${nvidia}/nvshmem/lib)
add_library(trainctl_libtorch INTERFACE)
target_include_directories(trainctl_libtorch SYSTEM INTERFACE ${torch_includes})
target_link_options(trainctl_libtorch INTERFACE
  -Wl,--unresolved-symbols=ignore-in-shared-libs)
foreach(dir ${torch_rpath})
  target_link_options(trainctl_libtorch INTERFACE -Wl,-rpath,${dir})
endforeach()
file(GLOB cudart ${nvidia}/cu13/lib/libcudart.so.*)
file(GLOB nccl ${nvidia}/nccl/lib/libnccl.so.*)
target_link_libraries(trainctl_libtorch INTERFACE
  -Wl,--no-as-needed ${torch}/lib/libtorch_cpu.so ${torch}/lib/libc10.so
  ${torch}/lib/libtorch_cuda.so ${torch}/lib/libc10_cuda.so ${cudart} ${nccl}
  -Wl,--as-needed Threads::Threads)
