//! The back ends of he-core under the suite for back ends, and the suite under faults.

mod faults;

use he_core::backend::Cpu;
use he_core::conformance::{Mirror, Naive};
use he_core::conformance_suite;

conformance_suite!(cpu, Cpu::new());
conformance_suite!(cpu_portable, Cpu::portable(), log_n <= 11);
conformance_suite!(naive, Naive, log_n <= 4);
conformance_suite!(mirror, Mirror::new(Cpu::new(), Naive), log_n <= 4);
conformance_suite!(skipped, optional None::<Cpu>);
conformance_suite!(wide cpu_wide, Cpu::new(), log_n <= 12);
conformance_suite!(wide naive_wide, Naive, log_n <= 5);
conformance_suite!(wide skipped_wide, optional None::<Cpu>, log_n <= 12);
