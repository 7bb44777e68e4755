#include "margay/query/view_source.h"

namespace margay::daemon {
namespace {

class ArchiveSource : public ViewSource {
 public:
  explicit ArchiveSource(const store::Archive& archive) : archive_(archive) {}

  Result<store::Resume> load() const override {
    store::LoadBounds bounds;  // of the past, nothing is needed here
    bounds.alert_bytes = bounds.phase_bytes = bounds.signature_bytes = 0;
    return archive_.load(bounds);
  }
  Result<ZoomExtent> extent(const store::Resume& resume) const override {
    return zoom_extent(archive_, resume);
  }
  Result<Zoomed> zoom(const ZoomRequest& request, const store::Resume& resume) const override {
    return daemon::zoom(request, archive_, resume);
  }
  Result<std::vector<store::AlertRecord>> alerts() const override { return archive_.alerts(); }
  const store::Archive* events() const override { return &archive_; }

 private:
  const store::Archive& archive_;
};

}  // namespace

std::unique_ptr<ViewSource> view_source(const store::Archive& archive) {
  return std::make_unique<ArchiveSource>(archive);
}

}  // namespace margay::daemon
