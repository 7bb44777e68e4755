// The run that is shipped as an example, read once for all tests of a suite: sixteen ranks, with messages.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "margay/query/zoom.h"
#include "margay/store/archive.h"

namespace margay::daemon {

class ExampleRun : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto opened = store::Archive::open(MARGAY_EXAMPLE, store::Mode::kBeside);
    ASSERT_TRUE(opened) << opened.error().message;
    archive_ = std::move(*opened);
    auto all = archive_->load();
    ASSERT_TRUE(all) << all.error().message;
    resume_ = std::make_unique<store::Resume>(std::move(*all));
    const auto there = zoom_extent(*archive_, *resume_);
    ASSERT_TRUE(there) << there.error().message;
    extent_ = std::make_unique<ZoomExtent>(*there);
  }
  static void TearDownTestSuite() {
    extent_.reset();
    resume_.reset();
    archive_.reset();
  }

  static inline std::unique_ptr<store::Archive> archive_;
  static inline std::unique_ptr<store::Resume> resume_;
  static inline std::unique_ptr<ZoomExtent> extent_;
};

}  // namespace margay::daemon
