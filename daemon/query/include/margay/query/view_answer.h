// A partition of a model as viewers are told it (wire::ViewAnswer). Pure.
//
// Thread safety: functions are safe. Cost: leaves x slices x states.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "margay/model/hierarchy.h"
#include "margay/model/state_table.h"
#include "margay/partition/partition.h"
#include "margay/partition/significant.h"
#include "margay/query/model_file.h"
#include "margay/store/archive.h"
#include "margay/wire/view.pb.h"
#include "view_question.h"

namespace margay::daemon {

struct AnswerLimits {
  std::size_t parts = 65'536;
  std::size_t shares = 2'000'000;
  std::size_t curve = 4096;                   // points
  std::size_t bytes = std::size_t{15} << 20;  // of the message (transport.h has 16 MiB)
};

// Times, nodes, states and units: what is the same at every p. REQUIRES: the model has names and times.
// `states` tells the families; what is in no state table is what the measure is about (marks, links,
// variables).
void put_model(const Model& model, const ViewRequest& request, const model::StateTable& states,
               wire::ViewAnswer& answer);
// The levels that views of the run can have.
void put_attributes(std::span<const model::Attributes> leaves, wire::ViewAnswer& answer);
// Parts with their measures and shares, gain, loss and p. False, and `answer` half filled, beyond the limits.
bool put_parts(const Model& model, const partition::Partition& partition, const AnswerLimits& limits,
               wire::ViewAnswer& answer);
// At most limits.curve points; what is too much leaves it incomplete.
void put_curve(const Model& model, const partition::SignificantP& curve, const AnswerLimits& limits,
               wire::ViewAnswer& answer);
// The single visits of the stretch, and the regions, variables and marks between them, where there are no
// more than the question wants and their events are kept; else, and where `go_on` ends it, none. Errors:
// those of list_events, but for kLimit, kNotFound and kTimeout. REQUIRES: the answer has nodes, states and
// boundaries.
Status put_visits(const store::Archive& archive, const store::Resume& resume, const ViewRequest& request,
                  const std::function<bool()>& go_on, wire::ViewAnswer& answer);
// The messages of these resources, and notes of what could not be paired. As put_visits. REQUIRES: the answer
// has nodes and boundaries.
Status put_messages(const store::Archive& archive, const store::Resume& resume, const ViewRequest& request,
                    const std::function<bool()>& go_on, wire::ViewAnswer& answer);
// The question as it was understood.
void put_question(const Model& model, const ViewRequest& request, wire::ViewAnswer& answer);

// An answer that is a sentence.
wire::ViewAnswer view_error(std::uint64_t token, const std::string& sentence);

}  // namespace margay::daemon
