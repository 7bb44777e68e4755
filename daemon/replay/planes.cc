#include "margay/replay/planes.h"

#include <algorithm>

namespace margay::daemon {
namespace {
constexpr std::int64_t kAhead = 16;
}

Result<std::unique_ptr<Planes>> Planes::open(const std::string& path) {
  auto archive = store::Archive::open(path, store::Mode::kReadOnly);
  if (!archive) return tl::unexpected(archive.error());
  const auto resume = (*archive)->load();
  if (!resume) return tl::unexpected(resume.error());
  auto planes = std::make_unique<Planes>();
  planes->archive_ = std::move(*archive);
  planes->states_ = resume->states.states();
  return planes;
}

Status Planes::attach(ClosedSlice& message) {
  if (message.topology) {
    auto topology = std::make_shared<detect::Topology>(*message.topology);
    topology->states = states_;
    message.topology = std::move(topology);
  }
  if (!message.column) return {};
  const SliceIndex slice = message.column->index;
  const std::lock_guard lock(mutex_);
  const auto find = [&] {
    return std::find_if(ahead_.begin(), ahead_.end(), [&](const auto& c) { return c.index == slice; });
  };
  auto at = find();
  if (at == ahead_.end()) {
    auto read = archive_->read_columns(LevelIndex(0), slice, slice + kAhead);
    if (!read) return tl::unexpected(read.error());
    ahead_ = std::move(*read);
    at = find();
  }
  if (at == ahead_.end()) return {};  // nothing happened in it
  auto column = std::make_shared<model::SliceColumn>(*message.column);
  column->take_plane(*at);
  message.column = std::move(column);
  return {};
}

}  // namespace margay::daemon
