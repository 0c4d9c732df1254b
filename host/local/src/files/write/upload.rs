//! Uploads: files that come in parts, each under a temporary name until it is complete.
//!
//! Between two parts, an upload holds a descriptor and no lock, however slow its caller is.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::prepare::{Directories, Place, Prepared, Target, check, check_old};
use super::temporary::Temporary;
use crate::files::{Error, Files, MAX_PART, MAX_READ, Metadata, Precondition, version};

/// The most uploads at once: each holds some descriptors.
const MAX_UPLOADS: usize = 128;

/// After this long without a part, an upload is dropped.
pub(in crate::files) const UPLOAD_IDLE: Duration = Duration::from_mins(2);

/// The longest id of an upload, in bytes.
const MAX_ID: usize = 64;

/// The uploads of a workspace and of those beside it, by their ids.
#[derive(Debug, Default)]
pub(in crate::files) struct Uploads(Mutex<HashMap<String, Arc<Slot>>>);

/// An upload, and when it was used last; no upload once it has ended.
#[derive(Debug)]
struct Slot {
    upload: Mutex<Option<Upload>>,
    used: Mutex<Instant>,
}

/// A file of which a part is there. Dropping it removes the temporary file, and then the directories that were made for it.
#[derive(Debug)]
struct Upload {
    temporary: Temporary,
    directories: Directories,
    file: File,
    place: Place,
    when: Precondition,
    /// How many bytes are there.
    written: u64,
}

impl Uploads {
    fn find(&self, id: &str) -> Result<Arc<Slot>, Error> {
        let slot = self.0.lock().get(id).map(Arc::clone);
        let slot = slot.ok_or_else(ended)?;
        *slot.used.lock() = Instant::now();
        Ok(slot)
    }

    /// Ends the uploads to which nothing was added for long.
    fn take_idle(&self) -> Vec<Option<Upload>> {
        let mut uploads = self.0.lock();
        let idle = uploads.extract_if(|_, slot| slot.used.lock().elapsed() >= 2 * UPLOAD_IDLE);
        let idle: Vec<_> = idle.map(|(_, slot)| slot).collect();
        drop(uploads);
        idle.into_iter()
            .map(|slot| slot.upload.lock().take())
            .collect()
    }

    /// Ends an upload.
    fn take(&self, id: &str) -> Option<Upload> {
        let slot = self.0.lock().remove(id)?;
        slot.upload.lock().take()
    }
}

impl Files {
    /// Begins an upload. Returns whether it is new.
    ///
    /// # Errors
    ///
    /// See [`Error`]. [`Error::Busy`] if there are too many.
    pub(crate) fn begin_upload(
        &self,
        id: &str,
        path: &str,
        when: Precondition,
    ) -> Result<bool, Error> {
        if id.is_empty() || id.len() > MAX_ID {
            let text = format!("the id of an upload has 1 to {MAX_ID} bytes");
            return Err(Error::Invalid(text));
        }
        let slot = Arc::new(Slot {
            upload: Mutex::default(),
            used: Mutex::new(Instant::now()),
        });
        // A repeat waits until the upload is there.
        let mut upload = slot.upload.lock();
        // Whoever began them may be gone before anybody knew of them.
        drop(self.uploads.take_idle());
        {
            let mut uploads = self.uploads.0.lock();
            if let Some(known) = uploads.get(id).map(Arc::clone) {
                drop(uploads);
                return match &*known.upload.lock() {
                    Some(_) => Ok(false),
                    None => Err(ended()),
                };
            }
            if uploads.len() >= MAX_UPLOADS {
                let text = format!("{MAX_UPLOADS} files are being uploaded, which is the most");
                return Err(Error::Busy(text));
            }
            uploads.insert(id.to_owned(), Arc::clone(&slot));
        }
        match self.new_upload(path, when) {
            Ok(new) => *upload = Some(new),
            Err(error) => {
                self.uploads.0.lock().remove(id);
                return Err(error);
            }
        }
        Ok(true)
    }

    fn new_upload(&self, path: &str, when: Precondition) -> Result<Upload, Error> {
        let mut directories = Directories::default();
        let Target { place, old } = self.target(path, &mut directories)?;
        let Place {
            directory,
            name,
            path,
        } = &place;
        check(directory, name, &when)?;
        let mut temporary = Temporary::new(directory, path, self.temporaries.as_ref());
        let file = temporary.create(old.as_ref())?;
        Ok(Upload {
            temporary,
            directories,
            file,
            place,
            when,
            written: 0,
        })
    }

    /// Adds bytes to an upload that has `offset` bytes. A repeat does nothing.
    ///
    /// # Errors
    ///
    /// See [`Error`]. After one, the upload is still there.
    pub(crate) fn append_upload(&self, id: &str, offset: u64, data: &[u8]) -> Result<(), Error> {
        if data.len() > MAX_PART {
            return Err(Error::TooLarge(MAX_PART as u64));
        }
        let slot = self.uploads.find(id)?;
        let mut upload = slot.upload.lock();
        let upload = upload.as_mut().ok_or_else(ended)?;
        let end = offset.saturating_add(data.len() as u64);
        if end <= upload.written {
            return Ok(());
        }
        if offset != upload.written {
            let text = format!(
                "the upload has {} bytes, and the part begins at {offset}",
                upload.written
            );
            return Err(Error::Invalid(text));
        }
        upload.file.write_all_at(data, offset)?;
        upload.written = end;
        Ok(())
    }

    /// Gives a complete upload the name of its file, and ends it in any case. As with [`Files::change_all`], a file that is replaced hands on
    /// its mode and owner.
    ///
    /// # Errors
    ///
    /// See [`Error`]. Unless that is [`Error::UnknownOutcome`], the file is as it was.
    pub(crate) fn commit_upload(&self, id: &str, size: u64) -> Result<Metadata, Error> {
        let upload = self.uploads.take(id).ok_or_else(ended)?;
        // The directories are dropped after the file.
        let Upload {
            directories,
            temporary,
            file,
            place,
            when,
            written,
        } = upload;
        let (directory, name) = (&*place.directory, &*place.name);
        if written != size {
            let text = format!("the upload has {written} bytes in the place of {size}");
            return Err(Error::Invalid(text));
        }
        let old = match directory.symlink_metadata(name) {
            Ok(old) => {
                check_old(directory, name, &old)?;
                Some(old)
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(error.into()),
        };
        let new = temporary.finish(&file, old.as_ref().map(|old| (directory, name, old)))?;
        let version = match size <= MAX_READ as u64 {
            true => Some(version::of(&file)?.0),
            false => None,
        };
        let prepared = Prepared {
            turn: Some(self.turn(directory, name)?),
            temporary,
            place,
            when,
            version,
            new,
        };
        let placed = self.place(directories, vec![prepared], Vec::new());
        let mut written = placed.map_err(|(_, error)| error)?;
        let failed = || Error::UnknownOutcome("the file is not among those written".into());
        written.pop().ok_or_else(failed)
    }

    /// Drops an upload, with its temporary file.
    pub(crate) fn drop_upload(&self, id: &str) {
        drop(self.uploads.take(id));
    }

    /// Drops an upload if nothing was added to it for this long. Returns whether it is gone.
    pub(crate) fn sweep_upload(&self, id: &str, idle: Duration) -> bool {
        let is_idle = match self.uploads.0.lock().get(id) {
            Some(slot) => slot.used.lock().elapsed() >= idle,
            None => return true,
        };
        if is_idle && self.uploads.take(id).is_some() {
            tracing::info!("an upload was dropped, to which nothing was added any more");
        }
        is_idle
    }
}

fn ended() -> Error {
    Error::Failed(
        "there is no such upload: it has ended, or waited too long for its next part".into(),
    )
}
