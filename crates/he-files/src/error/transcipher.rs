//! Errors of sensor files and of transciphering.

use super::{DAMAGED, errors};

errors! {
    /// Sensor files that cannot be used, or not with these keys.
    pub enum TranscipherError {
        /// It is another file.
        NotASensorFile { name: String }:
            ("{name} is not a sensor file"),
            ("give what was encrypted with a sensor key");
        /// Its version is unknown.
        Version { name: String, found: u8, newest: u8 }:
            ("{name}: version {found} of sensor files is unknown, this program reads {newest}"),
            ("update the program");
        /// Its header holds something that cannot be.
        Header { name: String, what: &'static str }:
            ("{name}: the header of the sensor file holds an impossible {what}"),
            ("get an undamaged copy of the file, or a newer version of this program");
        /// It ends too early.
        Truncated { name: String, missing: u64 }:
            ("{name} is truncated: {missing} bytes are missing"), ("{DAMAGED}");
        /// It goes on after its end.
        Trailing { name: String }:
            ("{name} holds more than its header says"), ("{DAMAGED}");
        /// It is encrypted under another sensor key.
        OtherSensor { name: String, found: String, key: String, expected: String }:
            ("{name} is encrypted under sensor key {found}, and {key} is of sensor key {expected}"),
            ("use the key of the sensor that the file comes from");
        /// The evaluation key cannot transcipher.
        NoCircuitKey { name: String }:
            ("{name} holds no key for transciphering"),
            ("make the keys for transciphering, and encrypt the sensor key again");
    }
}
