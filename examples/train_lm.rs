//! Trains a log-bilinear language model on text files and writes its arrays.
//!
//! ```text
//! cargo run --release --features std --example train_lm -- \
//!     --train train.txt --valid valid.txt --test test.txt --size 8192 --out model
//! ```
//!
//! A text is one sentence a line, words between white space. The run is saved to the folder of
//! `--out` at every validation; `--resume` continues it. `--calibration` and `--queries` also write
//! the queries of that many contexts, evenly spread over the training and the test text.
//!
//! The work is already cut for all cores: `MATMUL_NUM_THREADS=1` in the environment keeps
//! matrixmultiply from starting threads of its own and is a tenth faster.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use zhat::host::io::write_npy;
use zhat::host::lm::{
    LogBilinear, Objective, Settings, Stage, Tokens, Trainer, Vocabulary, evaluate, read_text, write_array,
};

const OPTIONS: &str = "\
--train FILE --valid FILE    the texts to learn from and to stop by
--test FILE                  a text to report on
--out FOLDER                 where arrays, words and the checkpoint go (lm)
--resume FILE                continue the run of a checkpoint
--size N                     entries of the vocabulary (all words)
--dimension D --context N    sizes of the model (64, 9)
--tying untied|tied|mapped2  how input and output vectors relate (untied)
--noise K                    noise-contrastive estimation with K noise words
--penalty A                  maximum likelihood with A (ln Z)^2
--batch N --epochs N --validations N --patience N --seed N
--learning-rate X --dropout X
--calibration N --queries N  also write queries of training and test contexts";

#[derive(Default)]
struct Options {
    train: PathBuf,
    valid: PathBuf,
    test: Option<PathBuf>,
    out: PathBuf,
    resume: Option<PathBuf>,
    size: Option<usize>,
    calibration: usize,
    queries: usize,
    settings: Settings,
}

fn options() -> Result<Options, Box<dyn Error>> {
    let mut o = Options { out: "lm".into(), ..Options::default() };
    let s = &mut o.settings;
    let mut arguments = std::env::args().skip(1);
    while let Some(key) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{key} needs a value\n{OPTIONS}"))?;
        match key.as_str() {
            "--train" => o.train = value.into(),
            "--valid" => o.valid = value.into(),
            "--test" => o.test = Some(value.into()),
            "--out" => o.out = value.into(),
            "--resume" => o.resume = Some(value.into()),
            "--size" => o.size = Some(value.parse()?),
            "--calibration" => o.calibration = value.parse()?,
            "--queries" => o.queries = value.parse()?,
            "--dimension" => s.dimension = value.parse()?,
            "--context" => s.context = value.parse()?,
            "--tying" => s.tying = value.parse()?,
            "--noise" => s.objective = Objective::Contrastive { noise: value.parse()? },
            "--penalty" => s.objective = Objective::SelfNormalised { penalty: value.parse()? },
            "--batch" => s.batch = value.parse()?,
            "--epochs" => s.epochs = value.parse()?,
            "--validations" => s.validations = value.parse()?,
            "--patience" => s.patience = value.parse()?,
            "--seed" => s.seed = value.parse()?,
            "--learning-rate" => s.learning_rate = value.parse()?,
            "--dropout" => s.dropout = value.parse()?,
            _ => return Err(format!("{key} is no option\n{OPTIONS}").into()),
        }
    }
    if o.train.as_os_str().is_empty() || o.valid.as_os_str().is_empty() {
        return Err(format!("--train and --valid are needed\n{OPTIONS}").into());
    }
    Ok(o)
}

fn main() -> Result<(), Box<dyn Error>> {
    let o = options()?;
    let text = read_text(&o.train)?;
    let (trainer, vocabulary) = match &o.resume {
        Some(path) => {
            let trainer = Trainer::load(path)?;
            let vocabulary = trainer.vocabulary().clone();
            (Some(trainer), vocabulary)
        }
        None => (None, Vocabulary::from_text(&text, o.size)?),
    };
    let read = |path: &Path| Ok::<_, Box<dyn Error>>(Tokens::new(&read_text(path)?, &vocabulary)?);
    let train = Tokens::new(&text, &vocabulary)?;
    let valid = read(&o.valid)?;
    let test = o.test.as_deref().map(read).transpose()?;
    let mut trainer = match trainer {
        Some(trainer) => trainer,
        None => Trainer::new(o.settings, vocabulary.clone(), &train)?,
    };
    println!("{} words, {} tokens", vocabulary.len(), train.ids().len());
    println!("{:?}", trainer.settings());

    fs::create_dir_all(&o.out)?;
    let checkpoint = o.out.join("run.safetensors");
    let start = Instant::now();
    let mut unsaved = None;
    trainer.run(&train, &valid, &AtomicBool::new(false), &mut |run, p| {
        if p.stage == Stage::Validated {
            unsaved = run.save(&checkpoint).err();
        }
        if p.stage == Stage::Validated || p.step.is_multiple_of(500) {
            let seconds = start.elapsed().as_secs_f32();
            let stage = if p.stage == Stage::Validated { "valid" } else { "train" };
            println!(
                "{seconds:7.1} s  {}/{}  {stage} perplexity {:.2}  rate {:.1e}",
                p.step, p.steps, p.perplexity, p.learning_rate
            );
        }
    })?;
    if let Some(error) = unsaved {
        return Err(error.into());
    }

    let model = trainer.best();
    println!("valid: {:?}", evaluate(&model, &valid)?);
    model.export(&vocabulary, &o.out)?;
    if o.calibration > 0 {
        sample(&model, &train, o.calibration, &o.out, "calibration")?;
    }
    if let Some(test) = &test {
        println!("test: {:?}", evaluate(&model, test)?);
        if o.queries > 0 {
            sample(&model, test, o.queries, &o.out, "queries")?;
        }
    }
    Ok(())
}

/// Writes `count` queries of a text with their contexts and next words.
fn sample(model: &LogBilinear, tokens: &Tokens, count: usize, folder: &Path, name: &str) -> Result<(), Box<dyn Error>> {
    let n = tokens.ids().len();
    let count = count.min(n);
    let length = model.shape().context;
    let mut contexts = vec![0; count * length];
    let mut labels = Vec::new();
    for (i, window) in contexts.chunks_exact_mut(length).enumerate() {
        let at = i * n / count;
        tokens.context(at, window);
        labels.push(tokens.ids()[at]);
    }
    let at = |suffix: &str| folder.join(format!("{name}{suffix}.npy"));
    write_npy(at(""), &model.queries(&contexts)?)?;
    write_array(&at("_contexts"), &contexts, &[count, length])?;
    write_array(&at("_labels"), &labels, &[count])?;
    Ok(())
}
