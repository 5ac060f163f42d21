//! Limits on the time of a job.

use crate::cause::Cause;
use crate::queue::Owner;
use crate::settings::JobTimes;
use std::time::Duration;

/// The limit of the jobs of somebody.
pub fn of(owner: &Owner, times: JobTimes) -> Duration {
    if owner.is_guest() { times.guest } else { times.tenant }
}

/// The cause of the failure of a job that reached its limit.
pub fn exceeded(limit: Duration, owner: &Owner) -> Cause {
    let seconds = limit.as_secs();
    let time = match seconds % 60 {
        0 => format!("{} min", seconds / 60),
        _ => format!("{seconds} s"),
    };
    let who = if owner.is_guest() { "a guest" } else { "a tenant" };
    let more =
        if owner.is_guest() { ", or ask the operator for a token: tenants have more time" } else { "" };
    Cause {
        detail: format!("the job was not done after {time}, the most that a job of {who} may take"),
        hint: Some(format!("divide it into jobs with fewer rows or columns{more}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_name_the_limit_and_whose_it_is() {
        let (guest, tenant) = (Owner::guest("g", None), Owner::tenant("t"));
        let times = JobTimes { tenant: Duration::from_secs(90), guest: Duration::from_secs(600) };
        let cause = |owner| exceeded(of(owner, times), owner);
        assert!(cause(&guest).detail.contains("10 min") && cause(&guest).detail.contains("a guest"));
        assert!(cause(&tenant).detail.contains("90 s") && cause(&tenant).detail.contains("a tenant"));
        assert!(cause(&guest).hint.unwrap().contains("token"));
        assert!(!cause(&tenant).hint.unwrap().contains("token"));
    }
}
