#include "compress.h"

#include <zstd.h>

#include <memory>

namespace margay::store {
namespace {

constexpr int kLevel = 1;

struct FreeCompressor {
  void operator()(ZSTD_CCtx* c) const { ZSTD_freeCCtx(c); }
};
struct FreeExpander {
  void operator()(ZSTD_DCtx* c) const { ZSTD_freeDCtx(c); }
};

}  // namespace

Status compress(std::string_view bytes, std::string& out) {
  thread_local const std::unique_ptr<ZSTD_CCtx, FreeCompressor> context(ZSTD_createCCtx());
  if (!context) return fail(ErrorCode::kInternal, "zstd: out of memory");
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  const std::size_t at = out.size();
  out.resize(at + ZSTD_compressBound(bytes.size()));
  const std::size_t n =
      ZSTD_compress2(context.get(), out.data() + at, out.size() - at, bytes.data(), bytes.size());
  if (ZSTD_isError(n)) {
    out.resize(at);
    return fail(ErrorCode::kInternal, std::string("zstd: ") + ZSTD_getErrorName(n));
  }
  out.resize(at + n);
  return {};
}

Status expand_untrusted(std::string_view frame, std::size_t size, std::string& out) {
  thread_local const std::unique_ptr<ZSTD_DCtx, FreeExpander> context(ZSTD_createDCtx());
  if (!context) return fail(ErrorCode::kInternal, "zstd: out of memory");
  // One frame and nothing behind it: several would also expand.
  if (ZSTD_findFrameCompressedSize(frame.data(), frame.size()) != frame.size())
    return fail(ErrorCode::kCorrupt, "the compressed part is not one whole frame");
  out.resize(size);
  const std::size_t n = ZSTD_decompressDCtx(context.get(), out.data(), size, frame.data(), frame.size());
  if (ZSTD_isError(n) || n != size) {
    out.clear();
    return fail(ErrorCode::kCorrupt, ZSTD_isError(n)
                                         ? std::string("the compressed part: ") + ZSTD_getErrorName(n)
                                         : "the compressed part is shorter than stated");
  }
  return {};
}

}  // namespace margay::store
