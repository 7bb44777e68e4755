// What questions about stretches are answered from: the archive of a run, or a model of somebody's own.
//
// Thread safety: of one thread; an archive may be written by others. Errors: sentences, in the words of the
// zoom (zoom.h). Cost: that of the archive's reading calls; of a model, its cells.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "margay/query/zoom.h"
#include "margay/store/archive.h"

namespace margay::daemon {

class ViewSource {
 public:
  virtual ~ViewSource() = default;

  // Resources, states and levels. Of the past only what answers need: no alerts.
  virtual Result<store::Resume> load() const = 0;
  // `resume` is what load() said last, here and below.
  virtual Result<ZoomExtent> extent(const store::Resume& resume) const = 0;
  virtual Result<Zoomed> zoom(const ZoomRequest& request, const store::Resume& resume) const = 0;
  virtual Result<std::vector<store::AlertRecord>> alerts() const = 0;
  // That has the single events; null: there are none.
  virtual const store::Archive* events() const = 0;
};

// `archive` must outlive it.
std::unique_ptr<ViewSource> view_source(const store::Archive& archive);
// A model that was read from a file (model_file.h), and what it is called. Its slices lie at its own times
// where it has any, else slice k lasts for the second that begins at k s (within +-2.5e9). Paths of resources
// are the attributes path1, path2 ...; where it has no names, these are of "node 5" and "leaf 3". Errors:
// kLimit (more states than a run may have, or their names are too long).
Result<std::unique_ptr<ViewSource>> view_source(Model model, const std::string& name);

}  // namespace margay::daemon
