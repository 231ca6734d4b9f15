//! Files and runs.

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use tempfile::TempDir;
use zhat::host::input::write_npy;
use zhat::host::{Kind, Layer, Matrix};

pub const N: usize = 400;
pub const D: usize = 8;
pub const M: usize = 150;

/// A directory with weights.npy, bias.npy, calibration.npy, queries.npy, labels.npy and names.txt.
pub struct Files(TempDir);

impl Files {
    pub fn new() -> Self {
        let files = Self(tempfile::tempdir().unwrap());
        let layer = Layer::generate(N, D, 5);
        write_npy(files.path("weights.npy"), &layer.weights).unwrap();
        files.npy("bias.npy", "<f4", &[N], bytemuck_of(&layer.biases));
        write_npy(files.path("calibration.npy"), &layer.queries(Kind::LanguageModel, M, 1)).unwrap();
        let queries = layer.queries(Kind::LanguageModel, M, 2);
        write_npy(files.path("queries.npy"), &queries).unwrap();
        let best = |query: &[f32]| {
            let score = |class: usize| -> f32 {
                layer.weights.row(class).iter().zip(query).map(|(w, q)| w * q).sum::<f32>() + layer.biases[class]
            };
            (0..N).max_by(|&a, &b| score(a).total_cmp(&score(b))).unwrap() as i64
        };
        // Two of three labels are the best class, the others are another one.
        let labels = queries.iter().enumerate().map(|(i, q)| if i % 3 == 0 { i as i64 % 7 } else { best(q) });
        files.npy("labels.npy", "<i8", &[M], labels.flat_map(i64::to_le_bytes).collect());
        let names: String = (0..N).map(|class| format!("name{class}\n")).collect();
        fs::write(files.path("names.txt"), names).unwrap();
        files
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn list(&self) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(self.0.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Writes a .npy file of any type.
    pub fn npy(&self, name: &str, kind: &str, shape: &[usize], data: Vec<u8>) {
        let shape: String = shape.iter().map(|n| format!("{n}, ")).collect();
        let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({shape}), }}");
        while !(header.len() + 11).is_multiple_of(64) {
            header.push(' ');
        }
        header.push('\n');
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        fs::write(self.path(name), bytes).unwrap();
    }

    /// The command, in the directory.
    pub fn zhat(&self, line: &str) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("zhat"));
        command.current_dir(self.0.path()).args(line.split_whitespace());
        command
    }

    /// Runs a command that has to succeed; what it prints.
    pub fn run(&self, line: &str) -> String {
        let output = self.zhat(line).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        assert!(output.status.success(), "zhat {line}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// Runs a command that has to fail with this status; what it says about it.
    pub fn fail(&self, status: i32, line: &str) -> String {
        let output = self.zhat(line).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "zhat {line}: {message}");
        assert!(output.stdout.is_empty(), "zhat {line} printed a result");
        message
    }

    /// A directory with a model in it.
    pub fn with_model() -> Self {
        let files = Self::new();
        files.run(BUILD);
        files
    }
}

/// One plan, for speed.
pub const BUILD: &str = "build --weights weights.npy --bias bias.npy --queries calibration.npy --names names.txt \
    --work 10% --blend 0.25 --branching 8 --leaf 8 -o model.zhat";

pub fn bytemuck_of(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

pub fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

pub fn read(path: &Path) -> Matrix {
    zhat::host::input::read_matrix(path, Default::default()).unwrap()
}
