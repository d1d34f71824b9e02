//! With the feature `dpdk`: builds the calls of DPDK's ring, which are inline functions of C. Without
//! it there is nothing to build.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "dpdk")]
    dpdk::build();
}

#[cfg(feature = "dpdk")]
mod dpdk {
    use std::process::Command;

    const SOURCE: &str = "src/peers/rte_ring.c";

    pub(super) fn build() {
        println!("cargo::rerun-if-changed={SOURCE}");
        println!("cargo::rustc-env=DPDK_VERSION={}", pkg_config("--modversion"));
        // The headers need the instructions that DPDK was built for, and its configuration.
        let flags = pkg_config("--cflags");
        let mut build = cc::Build::new();
        for flag in flags.split_whitespace() {
            build.flag(flag);
        }
        build.file(SOURCE).std("gnu11").compile("corelane_rte_ring");
        for folder in pkg_config("--libs-only-L").split_whitespace() {
            println!("cargo::rustc-link-search=native={}", folder.trim_start_matches("-L"));
        }
        println!("cargo::rustc-link-lib=rte_ring");
    }

    fn pkg_config(question: &str) -> String {
        let answer = Command::new("pkg-config").args([question, "libdpdk"]).output();
        match answer {
            Ok(answer) if answer.status.success() => {
                String::from_utf8_lossy(&answer.stdout).trim().to_owned()
            }
            _ => panic!("the feature `dpdk` needs DPDK: apt install libdpdk-dev pkg-config gcc"),
        }
    }
}
