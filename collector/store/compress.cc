#include "compress.h"

#include <zstd.h>

#include <memory>

namespace margay::store {
namespace {

constexpr int kLevel = 1;
constexpr int kSeal = -50;                // looks for repetitions only here and there
constexpr std::size_t kBlockHeader = 32;  // of a frame's further blocks, generously

struct FreeCompressor {
  void operator()(ZSTD_CCtx* c) const { ZSTD_freeCCtx(c); }
};
struct FreeExpander {
  void operator()(ZSTD_DCtx* c) const { ZSTD_freeDCtx(c); }
};

}  // namespace

namespace {

// One frame of all parts, appended.
Status compress_at(int level, std::span<const std::string_view> parts, std::string& out) {
  thread_local const std::unique_ptr<ZSTD_CCtx, FreeCompressor> context(ZSTD_createCCtx());
  if (!context) return fail(ErrorCode::kInternal, "zstd: out of memory");
  std::size_t size = 0;
  std::size_t most = 0;
  for (const std::string_view p : parts) {
    size += p.size();
    most += ZSTD_compressBound(p.size()) + kBlockHeader;
  }
  ZSTD_CCtx_reset(context.get(), ZSTD_reset_session_only);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  ZSTD_CCtx_setPledgedSrcSize(context.get(), size);
  const std::size_t at = out.size();
  out.resize(at + most);
  ZSTD_outBuffer to{out.data() + at, most, 0};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    ZSTD_inBuffer from{parts[i].data(), parts[i].size(), 0};
    const bool last = i + 1 == parts.size();
    const std::size_t left =
        ZSTD_compressStream2(context.get(), &to, &from, last ? ZSTD_e_end : ZSTD_e_flush);
    if (left != 0) {  // the room is enough: never but for an error
      out.resize(at);
      return fail(ErrorCode::kInternal,
                  std::string("zstd: ") + (ZSTD_isError(left) ? ZSTD_getErrorName(left) : "too little room"));
    }
  }
  out.resize(at + to.pos);
  return {};
}

}  // namespace

Status compress(std::string_view bytes, std::string& out) {
  return compress_at(kLevel, std::span(&bytes, 1), out);
}
Status compress(std::span<const std::string_view> parts, std::string& out) {
  return compress_at(kLevel, parts, out);
}
Status seal(std::string_view bytes, std::string& out) {
  return compress_at(kSeal, std::span(&bytes, 1), out);
}

Status expand_untrusted(std::string_view frames, std::size_t size, std::string& out, unsigned count) {
  thread_local const std::unique_ptr<ZSTD_DCtx, FreeExpander> context(ZSTD_createDCtx());
  if (!context) return fail(ErrorCode::kInternal, "zstd: out of memory");
  // So many frames and nothing behind them: more would also expand.
  std::size_t whole = 0;
  unsigned found = 0;
  for (; found < count && whole < frames.size(); ++found) {
    const std::size_t n = ZSTD_findFrameCompressedSize(frames.data() + whole, frames.size() - whole);
    if (ZSTD_isError(n)) break;
    whole += n;
  }
  if (found != count || whole != frames.size())
    return fail(ErrorCode::kCorrupt, count == 1 ? "the compressed part is not one whole frame"
                                                : "the compressed parts are not whole");
  out.resize(size);
  const std::size_t n = ZSTD_decompressDCtx(context.get(), out.data(), size, frames.data(), frames.size());
  if (ZSTD_isError(n) || n != size) {
    out.clear();
    return fail(ErrorCode::kCorrupt, ZSTD_isError(n)
                                         ? std::string("the compressed part: ") + ZSTD_getErrorName(n)
                                         : "the compressed part is shorter than stated");
  }
  return {};
}

}  // namespace margay::store
