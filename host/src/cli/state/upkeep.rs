//! Check, export, compaction and backup.

use std::fs::OpenOptions;
use std::io::{self, BufWriter};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use serde_json::json;
use toolhost_service::stderr;
use toolhost_store::{Sqlite, StoreError, StoreFile};

use super::{Common, Place, exit_code, patiently, print, size};

/// The advice for a damaged store.
const ADVICE: &str = "end the host, then set the store aside and keep what can be read with `toolhost state recover`, or restore a \
                      backup; do not compact it, which would hide what is missing";

pub(super) async fn check(common: &Common, place: Place) -> anyhow::Result<ExitCode> {
    let _lock = place.lock_to_read()?;
    let path = place.0.path().display().to_string();
    let checked = patiently("reading the store", move || {
        let file = match place.file() {
            Ok(file) => file,
            Err(error) => match error.downcast::<StoreError>()? {
                StoreError::Damaged { problem, .. } => return Ok((vec![problem], 0)),
                error => return Err(error.into()),
            },
        };
        anyhow::Ok((file.check()?, file.bytes()))
    });
    let (problems, bytes) = checked.await??;
    if common.json {
        let object = json!({ "state_dir": path, "bytes": bytes, "problems": problems });
        print(&object.to_string())?;
    } else if problems.is_empty() {
        print(&format!("{path}: nothing is wrong in {}", size(bytes)))?;
    } else {
        for problem in &problems {
            print(&format!("{path}: {problem}"))?;
        }
    }
    if !problems.is_empty() {
        stderr::line(format_args!("the store is damaged: {ADVICE}"));
    }
    Ok(exit_code(problems.is_empty()))
}

pub(super) async fn export(place: Place, file: Option<PathBuf>) -> anyhow::Result<ExitCode> {
    let _lock = place.lock_to_read()?;
    let exported = patiently("exporting the store", move || {
        let store = place.file()?;
        match file {
            Some(file) => export_to(&store, &file),
            None => match store.export(&mut BufWriter::new(io::stdout().lock())) {
                // The reader wants no more.
                Err(error) if is_closed_pipe(&error) => Ok(()),
                exported => Ok(exported?),
            },
        }
    });
    exported.await??;
    Ok(ExitCode::SUCCESS)
}

fn export_to(store: &StoreFile, file: &Path) -> anyhow::Result<()> {
    let mut options = OpenOptions::new();
    let made = options.write(true).create_new(true).mode(0o600).open(file);
    let made = made.with_context(|| format!("cannot make {}", file.display()))?;
    let exported = store.export(&mut BufWriter::new(made));
    exported.map_err(|error| {
        // Half of an export looks like a whole one.
        _ = std::fs::remove_file(file);
        anyhow::Error::from(error).context(format!("cannot export to {}", file.display()))
    })
}

fn is_closed_pipe(error: &StoreError) -> bool {
    let StoreError::Failed { source, .. } = error else {
        return false;
    };
    let error = source.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

pub(super) async fn compact(common: &Common, place: Place) -> anyhow::Result<ExitCode> {
    let _lock = place.0.lock()?;
    let path = place.0.path().display().to_string();
    let compacted = patiently("compacting the store", move || {
        let bytes = || anyhow::Ok(place.file()?.bytes());
        let before = bytes()?;
        match Sqlite::compact(&place.0) {
            Err(error @ StoreError::Full { .. }) => Err(error).context(format!(
                "the store cannot be compacted: that needs {} of free space",
                size(before)
            )),
            compacted => Ok(compacted.map(|()| before)?),
        }
        .and_then(|before| Ok((before, bytes()?)))
    });
    let (before, after) = compacted.await??;
    common.report(
        &format!("{path}: the store had {before} bytes, and has {after} bytes now"),
        &json!({ "state_dir": path, "bytes_before": before, "bytes": after }),
    )?;
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn backup(
    common: &Common,
    place: Place,
    file: PathBuf,
) -> anyhow::Result<ExitCode> {
    let _lock = place.lock_to_read()?;
    let shown = file.display().to_string();
    let copied = patiently("copying the store", move || {
        let store = place.file()?;
        if file.symlink_metadata().is_ok() {
            anyhow::bail!("{} exists: name another file", file.display());
        }
        let directory = file
            .parent()
            .filter(|directory| !directory.as_os_str().is_empty());
        if let Some(directory) = directory.filter(|directory| !directory.is_dir()) {
            anyhow::bail!(
                "there is no directory {}: make it, or name another file",
                directory.display()
            );
        }
        let copied = store.backup(&file);
        copied.with_context(|| format!("cannot write the backup {}", file.display()))?;
        Ok(std::fs::metadata(&file)?.len())
    });
    let bytes = copied.await??;
    common.report(
        &format!(
            "{shown}: a backup of {}, without saved output, audit trail, workspaces and configuration",
            size(bytes)
        ),
        &json!({ "file": shown, "bytes": bytes }),
    )?;
    Ok(ExitCode::SUCCESS)
}
