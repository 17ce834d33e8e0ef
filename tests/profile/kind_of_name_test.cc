// Names as cuBLAS, CUTLASS, cuDNN, NCCL, LibTorch and our own kernels have them.
#include "worker/rank/profile/kind_of_name.h"

#include <gtest/gtest.h>

#include <optional>
#include <string_view>

namespace trainctl::profile {
namespace {

using enum job::StepKind;

struct Named {
  std::string_view name;
  job::StepKind kind;
};

TEST(KindOfName, KernelsAreOfTheirKind) {
  constexpr Named kKernels[] = {
      {"nvjet_tst_256x128_64x4_1x2_h_bz_coopA_NTT", kMatmul},
      {"nvjet_sm90_tst_128x256_64x4_2x1_v_bz_coopB_TNN", kMatmul},
      {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_"
       "segment_k_off_kernel__5x_cublas",
       kMatmul},
      {"void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align8>"
       "(cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align8::Params)",
       kMatmul},
      {"ampere_sgemm_128x64_tn", kMatmul},
      {"void gemv2T_kernel_val<int, int, __nv_bfloat16>(...)", kMatmul},
      {"void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16>(...)", kMatmul},
      {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1_"
       "kernel0_0",
       kAttention},
      {"cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_31_64x128x128_1x1x1_"
       "kernel0_0",
       kAttention},
      {"void cudnn::fusion::compute_dot_do_o_specialized<true, 128, 2>(...)", kAttention},
      {"void cudnn::fusion::convert_dq_to_16bits<true, 128, 2>(...)", kAttention},
      {"void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, "
       "4, false, false, cutlass::bfloat16_t>, false, true>(pytorch_flash::Flash_fwd_params)",
       kAttention},
      {"fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float, "
       "cutlass::arch::Sm80, true, 64, 64, 64, true, true>::Params)",
       kAttention},
      {"void trainctl::ops::fused::(anonymous namespace)::UpdateKernel<c10::BFloat16, "
       "c10::BFloat16, float>(...)",
       kOptimizer},
      {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
       "namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous "
       "namespace)::FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)1, false>>(...)",
       kOptimizer},
      {"void trainctl::ops::fused::(anonymous namespace)::BackwardKernel<c10::BFloat16>(...)",
       kOther},
      {"void trainctl::ops::fused::(anonymous namespace)::ForwardBackwardKernel<float>(...)",
       kOther},
      {"void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<"
       "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}>>(...)",
       kCopies},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(...)",
       kCopies},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(...)",
       kOther},
      {"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", kCommunication},
      {"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
       kCommunication},
      {"ncclSymkDevKernel_AllGather_LLMC(ncclSymkDevWorkArgs)", kCommunication},
      {"Memcpy HtoD (Pinned -> Device)", kCopies},
      {"Memset (Device)", kCopies},
      {"", kOther},
  };
  for (const Named& kernel : kKernels)
    EXPECT_EQ(KindOfKernel(kernel.name), kernel.kind) << kernel.name;
}

TEST(KindOfName, OperatorsAreOfTheirKind) {
  constexpr Named kOperators[] = {
      {"aten::mm", kMatmul},
      {"aten::addmm", kMatmul},
      {"aten::bmm", kMatmul},
      {"aten::baddbmm", kMatmul},
      {"aten::matmul", kMatmul},
      {"aten::_scaled_dot_product_flash_attention_for_cpu", kAttention},
      {"aten::_scaled_dot_product_flash_attention_for_cpu_backward", kAttention},
      {"aten::_fused_adamw_", kOptimizer},
      {"aten::copy_", kCopies},
      {"aten::_to_copy", kCopies},
      {"aten::fill_", kCopies},
      {"aten::zero_", kCopies},
      {"aten::mul", kOther},
      {"aten::cummax", kOther},
      {"aten::comm", kOther},
      {"aten::silu_backward", kOther},
  };
  for (const Named& op : kOperators) EXPECT_EQ(KindOfOperator(op.name), op.kind) << op.name;
}

TEST(KindOfName, OnlyRangesOfOneKindHaveOne) {
  EXPECT_EQ(KindOfRange("data"), kData);
  EXPECT_EQ(KindOfRange("attention"), kAttention);
  EXPECT_EQ(KindOfRange("optimizer"), kOptimizer);
  EXPECT_EQ(KindOfRange("collective"), kCommunication);
  EXPECT_EQ(KindOfRange("forward"), std::nullopt);
  EXPECT_EQ(KindOfRange("step 12"), std::nullopt);
}

}  // namespace
}  // namespace trainctl::profile
