//! Devices: the CPU, and CUDA devices, on machines with and without them.

use crate::pictures::{Planes, eight};
use crate::process::{Call, DEVICE, Keys, decrypt, encrypt, eval, folder, he, names};
use he_cuda::Cuda;
use he_cuda::gpu::{Error, Gpu};
use serde_json::Value;
use std::fs;

const NO_DRIVER: (&str, &str) = ("no CUDA driver is installed", "install NVIDIA's driver, or use the CPU");

/// Whether this machine has no CUDA driver, said if it has one.
fn without_driver() -> bool {
    let without = matches!(Gpu::count(), Err(Error::NoDriver));
    if !without {
        eprintln!("skipped: this machine has a CUDA driver");
    }
    without
}

/// Whether there is a device, said if there is none; with `HE_REQUIRE_GPU=1` a missing device is a
/// failure.
fn with_gpu() -> bool {
    match Cuda::open(0) {
        Ok(_) => true,
        Err(error) if std::env::var_os("HE_REQUIRE_GPU").is_some_and(|value| value == "1") => {
            panic!("HE_REQUIRE_GPU=1, and there is no device: {error}")
        }
        Err(error) => {
            eprintln!("skipped: no CUDA device ({error})");
            false
        }
    }
}

/// The program as it runs where nobody chose a device.
fn unset(arguments: &[&str]) -> Call {
    he(arguments).without(DEVICE)
}

#[test]
fn the_cpu_is_the_default_without_a_driver() {
    if !without_driver() {
        return;
    }
    let (keys, dir) = (Keys::usual(), folder());
    let path = |name: &str| dir.path().join(name);
    eight(67, 30, 3, 1).save(path("in.png")).unwrap();
    encrypt(keys, &path("in.png"), &path("x.he"), &[]);
    for (at, option) in [&[][..], &["--device", "auto"], &["--device", "cpu"]].into_iter().enumerate() {
        let run = |start: &[&str]| {
            let outcome = unset(&[start, option].concat()).at(dir.path()).run();
            assert_eq!(outcome.code, Some(0), "{start:?} {option:?}");
            // The summary names the file, and nothing of devices.
            let told = outcome.stderr.lines().last().unwrap_or_default();
            assert!(told.contains(&format!("{at}.")), "{}", outcome.stderr);
            assert!(!outcome.stderr.contains("using"), "{}", outcome.stderr);
            outcome.stdout
        };
        // Nothing is random in these two, so that every byte is the same.
        run(&["eval", "blur", "x.he", "-k", &keys.eval, "-o", &format!("{at}.he")]);
        run(&["decrypt", &format!("{at}.he"), "-k", &keys.secret, "-o", &format!("{at}.png")]);
        run(&["encrypt", "in.png", "-k", &keys.public, "-o", &format!("again-{at}.he")]);
        decrypt(keys, &path(&format!("again-{at}.he")), &path(&format!("again-{at}.png")));
        let read = |name: String| fs::read(path(&name)).unwrap();
        assert!(read(format!("{at}.he")) == read("0.he".to_owned()));
        assert!(read(format!("{at}.png")) == read("0.png".to_owned()));
        assert!(read(format!("again-{at}.png")) == read("again-0.png".to_owned()));
    }
}

#[test]
fn cuda_without_a_driver_fails_and_leaves_nothing() {
    if !without_driver() {
        return;
    }
    let (keys, dir) = (Keys::usual(), folder());
    let path = |name: &str| dir.path().join(name);
    eight(9, 8, 3, 1).save(path("in.png")).unwrap();
    he(["encrypt", "in.png", "-k", &keys.public, "-o", "x.he"]).at(dir.path()).ok();
    he(["keygen", "aes", "-o", "aes.key"]).at(dir.path()).ok();
    he(["encrypt", "in.png", "-k", "aes.key", "-o", "aes.he"]).at(dir.path()).ok();
    let before = names(dir.path());
    for command in [
        &["keygen", "ckks", "-o", "keys/new"][..],
        &["encrypt", "in.png", "-k", &keys.public, "-o", "y.he"],
        &["encrypt", "in.png", "-k", &keys.secret, "-o", "y.he"],
        &["eval", "blur", "x.he", "-k", &keys.eval, "-o", "y.he"],
        &["decrypt", "x.he", "-k", &keys.secret, "-o", "y.png"],
        &["decrypt", "x.he", "-k", &keys.secret, "-o", "-"],
        &["encrypt", "in.png", "-k", "aes.key", "-o", "y.he"],
        &["decrypt", "aes.he", "-k", "aes.key", "-o", "y.png"],
        &["demo", "in.png"],
    ] {
        for device in ["cuda", "cuda:0", "cuda:7", "cuda:all"] {
            let call = he(command.iter().chain(&["--device", device])).at(dir.path());
            call.fails(1, NO_DRIVER.0, NO_DRIVER.1);
            he(command).at(dir.path()).env(DEVICE, device).fails(1, NO_DRIVER.0, NO_DRIVER.1);
        }
        assert_eq!(names(dir.path()), before, "{command:?}");
    }
    // The option wins over the environment.
    let cpu = ["decrypt", "x.he", "-k", &keys.secret, "-o", "y.png", "--device", "cpu"];
    he(cpu).at(dir.path()).env(DEVICE, "cuda").ok();
}

#[test]
fn other_names_of_devices_are_wrong_usage() {
    let dir = folder();
    for device in ["gpu", "CPU", "cuda:", "cuda:-1", "cuda:ALL", "cuda:x", ""] {
        for call in [
            he(["demo", "in.png", "--device", device]),
            he(["eval", "blur", "x", "-k", "k", "-o", "y", "--device", device]),
        ] {
            let outcome = call.at(dir.path()).run();
            assert_eq!((outcome.code, outcome.stdout.as_slice()), (Some(2), &b""[..]), "{device:?}");
            assert!(outcome.stderr.contains("--device"), "{}", outcome.stderr);
        }
    }
    let told = he(["demo", "in.png", "--device", "gpu"]).at(dir.path()).run().stderr;
    let expected = "error: invalid value 'gpu' for '--device <DEVICE>': \
                    auto, cpu, cuda, cuda:N with the number of a device, cuda:N+M for several as one, or \
                    cuda:all; he-cli devices lists them\n";
    assert!(told.starts_with(expected), "{told}");
    assert!(names(dir.path()).is_empty());
    // The variable is named where it is what is wrong, and only where something computes.
    he(["keygen", "ckks", "-o", "keys"]).at(dir.path()).env(DEVICE, "gpu").fails(
        2,
        "the variable HE_DEVICE is \"gpu\", which is not a device",
        "unset it, or set it to auto, cpu, cuda, cuda:N with the number of a device, cuda:N+M for several as one, or \
         cuda:all; he-cli devices lists them",
    );
    assert!(names(dir.path()).is_empty());
    he(["keygen", "aes", "-o", "my.key"]).at(dir.path()).env(DEVICE, "gpu").ok();
    let small = ["keygen", "ckks", "--depth", "1", "--precision", "10", "--radius", "0", "-o"];
    he(small.iter().chain(&["a", "--device", "cpu"])).at(dir.path()).env(DEVICE, "gpu").ok();
    if without_driver() {
        // Set to nothing, it is not set.
        he(small.iter().chain(&["b"])).at(dir.path()).env(DEVICE, "").ok();
    }
}

#[test]
fn a_missing_device_is_an_answer() {
    if !without_driver() {
        return;
    }
    for (arguments, expected) in [
        (&["devices"][..], format!("{}; {}\n", NO_DRIVER.0, NO_DRIVER.1)),
        (&["devices", "--json"], "[]\n".to_owned()),
    ] {
        let outcome = he(arguments).run();
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
        assert_eq!(String::from_utf8(outcome.stdout).unwrap(), expected);
    }
}

#[test]
fn devices_are_listed() {
    if !with_gpu() {
        return;
    }
    let told: Value = serde_json::from_slice(&he(["devices", "--json"]).ok()).unwrap();
    assert_eq!(told.as_array().unwrap().len(), Gpu::count().unwrap());
    assert_eq!((&told[0]["device"], &told[0]["usable"]), (&"cuda:0".into(), &true.into()));
    assert!(told[0]["memory_bytes"].as_u64().unwrap() > 1 << 30, "{told}");
    let text = he(["devices"]).text();
    assert!(text.starts_with("device ") && text.contains("\ncuda:0 "), "{text}");
    let number = Gpu::count().unwrap();
    he(["demo", "in.png", "--device", &format!("cuda:{number}")]).refuses();
}

#[test]
fn the_demo_on_a_gpu() {
    if !with_gpu() {
        return;
    }
    let (keys, dir) = (Keys::usual(), folder());
    let path = |name: &str| dir.path().join(name);
    let picture = eight(300, 200, 3, 2);
    picture.save(path("in.png")).unwrap();
    let told = he(["demo", "in.png", "--json", "--device", "cuda:0"]).at(dir.path()).ok();
    let told: Value = serde_json::from_slice(&told).unwrap();
    assert!(told["device"].as_str().unwrap().starts_with("cuda:0 ("), "{told}");
    for step in [3, 4] {
        assert!(told["steps"][step]["psnr_db"].as_f64().unwrap() >= 120.0, "{told}");
    }
    assert_eq!(Planes::read(&path("out/decrypted.png")), Planes::of(&picture));

    // The same bytes as on the CPU, where nothing is random; and what was taken is said where
    // nobody chose.
    he(["encrypt", "in.png", "-k", &keys.public, "-o", "x.he", "--device", "cuda"]).at(dir.path()).ok();
    let name = told["device"].as_str().unwrap();
    for (option, expected) in
        [("cpu", ""), ("cuda", ""), ("cuda:all", ""), ("auto", &*format!("he-cli: using {name}\n"))]
    {
        let run = |arguments: &[&str]| {
            let outcome = unset(&[arguments, &["--device", option]].concat()).at(dir.path()).run();
            let written =
                outcome.stderr.strip_prefix(expected).unwrap_or_else(|| panic!("{}", outcome.stderr));
            assert_eq!((outcome.code, written.lines().count()), (Some(0), 1), "{}", outcome.stderr);
            assert!(written.starts_with(&format!("{option}.")), "{}", outcome.stderr);
        };
        run(&["eval", "blur", "x.he", "-k", &keys.eval, "-o", &format!("{option}.he")]);
        run(&["decrypt", &format!("{option}.he"), "-k", &keys.secret, "-o", &format!("{option}.png")]);
        for end in ["he", "png"] {
            let read = |device: &str| fs::read(path(&format!("{device}.{end}"))).unwrap();
            assert!(read(option) == read("cpu"), "{option}.{end}");
        }
    }
    eval(keys, &["invert"], &path("cuda.he"), &path("inverted.he"));
    decrypt(keys, &path("inverted.he"), &path("inverted.png"));
}

#[test]
fn integers_on_a_gpu() {
    if !with_gpu() {
        return;
    }
    for (scheme, keys) in [("bfv", Keys::bfv()), ("bgv", Keys::bgv())] {
        let dir = folder();
        let path = |name: &str| dir.path().join(name);
        let run = |arguments: &[&str], device: &str| {
            he(arguments.iter().chain(&["--device", device])).at(dir.path()).ok()
        };
        let table: String = (0..9000).map(|i| format!("{},{}\n", i % 100, ["x", "y", "z"][i % 3])).collect();
        fs::write(path("in.csv"), format!("n,c\n{table}")).unwrap();
        let picture = eight(300, 200, 3, 2);
        picture.save(path("in.png")).unwrap();
        run(&["encrypt", "in.png", "-k", &keys.public, "-o", "i.he"], "cuda");
        run(&["encrypt", "in.csv", "--categories", "c", "-k", &keys.public, "-o", "t.he"], "cuda");
        // The same bytes as on the CPU, where nothing is random.
        for (operation, input, result) in [
            (&["mul", "--with", "i.he"][..], "i.he", "m"),
            (&["sum"], "t.he", "s"),
            (&["count"], "t.he", "c"),
        ] {
            for device in ["cpu", "cuda", "cuda:all"] {
                let output = format!("{result}-{device}.he");
                let files = [input, "-k", &keys.eval, "-o", &output];
                run(&[&["eval"], operation, &files[..]].concat(), device);
                assert!(
                    fs::read(path(&output)).unwrap() == fs::read(path(&format!("{result}-cpu.he"))).unwrap(),
                    "{scheme}, {operation:?} on {device}"
                );
            }
        }
        let text = |file: &str| run(&["decrypt", file, "-k", &keys.secret, "-o", "-"], "cuda");
        assert_eq!(text("s-cuda.he"), b"n\n445500\n");
        assert_eq!(text("c-cuda.he"), b"column,category,count\nc,x,3000\nc,y,3000\nc,z,3000\n");
        run(&["decrypt", "i.he", "-k", &keys.secret, "-o", "out.png"], "cuda");
        assert_eq!(Planes::read(&path("out.png")), Planes::of(&picture));
    }
}

#[test]
fn files_under_aes_on_a_gpu() {
    if !with_gpu() {
        return;
    }
    let dir = folder();
    let path = |name: &str| dir.path().join(name);
    he(["keygen", "aes", "-o", "aes.key"]).at(dir.path()).ok();
    // Several pieces, the last of them short; a chunk; nothing.
    for len in [(70 << 20) + 12345, 1 << 20, 0] {
        let data: Vec<u8> = (0..len).map(|i: u32| (i.wrapping_mul(0x9e37_79b9) >> 13) as u8).collect();
        fs::write(path("data"), &data).unwrap();
        for (to, from) in [("cuda", "cpu"), ("cpu", "cuda"), ("cuda:all", "cuda:all")] {
            let run = |arguments: &[&str], device| {
                he(arguments.iter().chain(&["-k", "aes.key", "--force", "--device", device]))
                    .at(dir.path())
                    .ok()
            };
            run(&["encrypt", "data", "-o", "data.he"], to);
            run(&["decrypt", "data.he", "-o", "back"], from);
            assert!(fs::read(path("back")).unwrap() == data, "{len} bytes, {to} to {from}");
        }
        let mut sealed = fs::read(path("data.he")).unwrap();
        let at = sealed.len() - 20;
        sealed[at] ^= 1;
        fs::write(path("bad.he"), sealed).unwrap();
        he(["decrypt", "bad.he", "-k", "aes.key", "-o", "bad", "--device", "cuda"]).at(dir.path()).refuses();
        assert!(!path("bad").exists());
    }
}
