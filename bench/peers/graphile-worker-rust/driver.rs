//! Driver of graphile_worker in Rust: see ../README.md for what the commands mean.

use std::env;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::Duration;

use graphile_worker::{
    IntoTaskHandlerResult, JobSpec, LocalQueueConfig, RawJobSpec, TaskHandler, WorkerContext,
    WorkerContextExt, WorkerOptions, WorkerUtils,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

const SCHEMA: &str = "graphile_worker";

static FIRST: AtomicI64 = AtomicI64::new(0);
static HANDLED: AtomicI64 = AtomicI64::new(0);
static TRACE: OnceLock<File> = OnceLock::new();

type Failure = Box<dyn std::error::Error>;

/// The machine's monotonic clock, which the other programs write down, too.
fn now() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

fn variable(name: &str, otherwise: &str) -> String {
    env::var(name).ok().filter(|v| !v.is_empty()).unwrap_or(otherwise.into())
}

fn started(kind: &str, i: i64) {
    let at = now();
    let _ = FIRST.compare_exchange(0, at, Relaxed, Relaxed);
    if let Some(mut trace) = TRACE.get() {
        let _ = trace.write_all(format!("{kind} {i} {at}\n").as_bytes());
    }
}

#[derive(Clone, Deserialize, Serialize)]
struct Noop {
    i: i64,
    p: String,
}

impl TaskHandler for Noop {
    const IDENTIFIER: &'static str = "noop";

    async fn run(self, _: WorkerContext) -> impl IntoTaskHandlerResult {
        started("noop", self.i);
        HANDLED.fetch_add(1, Relaxed);
        Ok::<(), String>(())
    }
}

#[derive(Clone, Deserialize, Serialize)]
struct Chain {
    i: i64,
    left: i64,
    p: String,
}

impl TaskHandler for Chain {
    const IDENTIFIER: &'static str = "chain";

    async fn run(self, context: WorkerContext) -> impl IntoTaskHandlerResult {
        started("chain", self.i);
        if self.left > 0 {
            let next = Chain { left: self.left - 1, ..self };
            let added = context.utils().add_job(next, JobSpec::default()).await;
            added.map_err(|error| error.to_string())?;
        }
        HANDLED.fetch_add(1, Relaxed);
        Ok::<(), String>(())
    }
}

async fn pool(connections: u32) -> Result<PgPool, sqlx::Error> {
    PgPoolOptions::new().max_connections(connections).connect_with(Default::default()).await
}

async fn report_progress() {
    let mut before = 0;
    loop {
        tokio::time::sleep(Duration::from_millis(10)).await;
        let handled = HANDLED.load(Relaxed);
        if handled != before {
            before = handled;
            println!("{}", json!({"first": FIRST.load(Relaxed), "handled": handled, "at": now()}));
        }
    }
}

async fn serve() -> Result<(), Failure> {
    if let Ok(path) = env::var("BENCH_TRACE") {
        let _ = TRACE.set(OpenOptions::new().append(true).open(path)?);
    }
    let mut options = WorkerOptions::default().schema(SCHEMA).pg_pool(pool(20).await?);
    let setting = variable("BENCH_SETTING", "best");
    if setting != "default" {
        options = options
            .concurrency(variable("BENCH_CONCURRENCY", "24").parse()?)
            .complete_job_batch_delay(Duration::from_millis(5));
    }
    if setting == "best" {
        options = options.local_queue(LocalQueueConfig::default().with_size(2000));
    }
    let worker = options.define_job::<Noop>().define_job::<Chain>().init().await?;
    println!("{}", json!({"ready": now()}));
    if env::var("BENCH_QUIET").is_err() {
        tokio::spawn(report_progress());
    }
    Ok(worker.run().await?)
}

fn data(kind: &str, i: i64, size: usize) -> serde_json::Value {
    let p = "x".repeat(size.saturating_sub(format!("{{\"i\":{i},\"p\":\"\"}}").len()));
    if kind == "chain" {
        let depth: i64 = variable("BENCH_DEPTH", "100").parse().unwrap_or(100);
        json!({"i": i, "left": depth - 1, "p": p})
    } else {
        json!({"i": i, "p": p})
    }
}

fn job(kind: &str, i: i64, size: usize) -> RawJobSpec {
    RawJobSpec { identifier: kind.into(), payload: data(kind, i, size), spec: JobSpec::default() }
}

async fn fill(utils: WorkerUtils, kind: &str, tasks: i64, size: usize) -> Result<(), Failure> {
    let begin = now();
    for from in (0..tasks).step_by(1000) {
        let jobs: Vec<_> = (from..tasks.min(from + 1000)).map(|i| job(kind, i, size)).collect();
        utils.add_raw_jobs(&jobs).await?;
    }
    println!("{}", json!({"added": tasks, "seconds": (now() - begin) as f64 / 1e9}));
    Ok(())
}

async fn enqueue(utils: WorkerUtils, clients: usize, seconds: f64, size: usize) -> Result<(), Failure> {
    let begin = now();
    let until = begin + (seconds * 1e9) as i64;
    let clients: Vec<_> = (0..clients)
        .map(|_| {
            let utils = utils.clone();
            tokio::spawn(async move {
                let mut added = 0;
                while now() < until {
                    let payload = data("noop", added, size);
                    utils.add_raw_job("noop", payload, JobSpec::default()).await.expect("added");
                    added += 1;
                }
                added
            })
        })
        .collect();
    let mut added = 0;
    for client in clients {
        added += client.await?;
    }
    println!("{}", json!({"added": added, "seconds": (now() - begin) as f64 / 1e9}));
    Ok(())
}

/// The time at which a worker started task i.
fn start_of(trace: &mut impl BufRead, i: i64) -> Result<i64, Failure> {
    loop {
        let mut line = String::new();
        if trace.read_line(&mut line)? == 0 {
            return Err("the trace has ended".into());
        }
        let words: Vec<_> = line.split_whitespace().collect();
        if words.len() == 3 && words[0] == "noop" && words[1].parse::<i64>()? == i {
            return Ok(words[2].parse()?);
        }
    }
}

async fn latency(utils: WorkerUtils, tasks: i64, seconds: f64, size: usize) -> Result<(), Failure> {
    let mut trace = BufReader::new(File::open(env::var("BENCH_TRACE")?)?);
    let until = now() + (seconds * 1e9) as i64;
    let (mut from_call, mut from_return) = (vec![], vec![]);
    for i in 0..tasks {
        let call = now();
        if call > until {
            break;
        }
        utils.add_raw_job("noop", data("noop", i, size), JobSpec::default()).await?;
        let returned = now();
        let at = tokio::task::block_in_place(|| start_of(&mut trace, i))?;
        from_call.push(at - call);
        from_return.push(at - returned);
    }
    println!("{}", json!({"from_call_ns": from_call, "from_return_ns": from_return}));
    Ok(())
}

async fn prepare() -> Result<(), Failure> {
    let pool = pool(2).await?;
    WorkerUtils::new(pool.clone(), SCHEMA).migrate().await?;
    for statement in [
        "CREATE TABLE counter (id integer PRIMARY KEY, n bigint NOT NULL)",
        "INSERT INTO counter SELECT i, 0 FROM generate_series(0, 999) i",
    ] {
        sqlx::query(statement).execute(&pool).await?;
    }
    Ok(())
}

async fn produce(words: &[String]) -> Result<(), Failure> {
    let clients = if words[1] == "enqueue" { words[2].parse()? } else { 1 };
    let utils = WorkerUtils::new(pool(clients).await?, SCHEMA);
    match words[1].as_str() {
        "fill" => fill(utils, &words[2], words[3].parse()?, words[4].parse()?).await,
        "enqueue" => enqueue(utils, clients as usize, words[3].parse()?, words[4].parse()?).await,
        "latency" => latency(utils, words[2].parse()?, words[3].parse()?, words[4].parse()?).await,
        other => Err(format!("unknown command: {other}").into()),
    }
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let words: Vec<String> = env::args().collect();
    match words[1].as_str() {
        "version" => Ok(println!("{}", json!({"version": "0.14.1"}))),
        "prepare" => prepare().await,
        "serve" => serve().await,
        _ => produce(&words).await,
    }
}
