#include "margay/ingest/raw_records.h"

#include <algorithm>
#include <span>

#include "host_time.h"

namespace margay::ingest {

void RawRecords::put(const wire::EventBatch& batch, const Source& source, const Stream& stream,
                     std::size_t from, std::size_t until, const std::vector<std::int64_t>& times,
                     TimeNs latest) {
  AcceptedBatch raw;
  raw.leaf = stream.leaf;
  raw.source = source.id;
  raw.first = batch.first() + from;
  raw.count = static_cast<std::uint32_t>(until - from);
  // The clock of a source may run backwards, or ahead; an archive wants blocks that begin before they end.
  const auto [least, most] = std::minmax_element(times.begin() + static_cast<std::ptrdiff_t>(from),
                                                 times.begin() + static_cast<std::ptrdiff_t>(until));
  raw.begin = std::min(to_trace(*least, source), latest);
  raw.end = std::min(to_trace(*most, source), latest);
  if (bytes_ + batch.columns().size() > limit_) {
    dropped_ += raw.count;
    return;
  }
  if (from == 0 && until == batch.count()) {
    raw.columns = batch.columns();
  } else {
    static_cast<void>(wire::decode_columns_untrusted({batch.columns().data(), batch.columns().size()},
                                                     batch.count(), scratch_));
    wire::encode_columns(std::span(scratch_).subspan(from, until - from), raw.columns);
  }
  bytes_ += raw.columns.size();
  accepted_.push_back(std::move(raw));
}

std::vector<AcceptedBatch> RawRecords::take() {
  bytes_ = 0;
  return std::exchange(accepted_, {});
}

}  // namespace margay::ingest
