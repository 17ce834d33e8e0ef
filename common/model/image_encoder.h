// What BLIP-2 (Li et al. 2023) has before its decoder. A vision transformer (Dosovitskiy et al.
// 2021), pre-norm. A Q-Former: post-norm layers over learned queries, of which every other attends
// to the picture. A projection to the decoder's width. Pure.
#pragma once

#include <vector>

#include "common/model/model_description.h"

namespace trainctl::job {

// width: of the decoder's hidden states.
std::vector<EncoderUnit> DescribeImageEncoder(const ImageShape& image, int64_t width);

}  // namespace trainctl::job
