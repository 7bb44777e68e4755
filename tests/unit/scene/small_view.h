// A picture small enough to be worked out by hand, for several tests:
//
//             slice 0   1   2   3
//   /a/r0     [ Send  0.8 ][ a: Wait 0.5, Send 0.25 ]
//   /a/r1     [ Wait  1.0 ][                        ]
//   /b/r2     [ b: Compute 0.6, known 0.8           ]
//   /b/r3     [                                     ]
#pragma once

#include "margay/scene/view_data.h"
#include "synthetic_view.h"

namespace margay::scene {

struct SmallView {
  support::ViewBuilder build{4};
  std::uint32_t compute, send, wait, absent;
  std::uint32_t a, r0, r1, b, r2, r3;

  SmallView() {
    compute = build.state("Compute", wire::FAMILY_COMPUTE);
    send = build.state("MPI_Send", wire::FAMILY_POINT_TO_POINT);
    wait = build.state("MPI_Wait", wire::FAMILY_WAIT);
    absent = build.state("absent", wire::FAMILY_ABSENT);
    a = build.node("a", 0);
    r0 = build.node("r0", a);
    r1 = build.node("r1", a);
    b = build.node("b", 0);
    r2 = build.node("r2", b);
    r3 = build.node("r3", b);
    build.part(b, 0, 4, {{compute, 0.6F}, {absent, 0.2F}}, 0.8F, 8, 4);
    build.part(r0, 0, 2, {{send, 0.8F}});
    build.part(r1, 0, 2, {{wait, 1}});
    build.part(a, 2, 4, {{send, 0.25F}, {wait, 0.5F}}, 1, 2, 1);
  }
  ViewData data() const { return *view_data_untrusted(build.answer()); }
};

}  // namespace margay::scene
