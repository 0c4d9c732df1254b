//! Between the contract's types of searches and the domain's.

use super::wit;
use crate::convert::{same_fields, same_variants};
use toolhost_state::unix_time;
use toolhost_workspace::files::{
    FileMatches, Filter, Found, FoundFile, Kind, LetterCase, Line, Matches, Page, Scope, Text,
};

same_variants!(wit::Kind => Kind { File, Directory, Symlink, Other });
same_variants!(wit::LetterCase => LetterCase { Exact, Any, Smart });
same_fields!(wit::Page => Page { skip, max });
same_fields!(Line => wit::Line { number, text, is_match, is_cut });

impl From<wit::Scope> for Scope {
    fn from(scope: wit::Scope) -> Self {
        Self {
            path: scope.path,
            globs: scope.globs,
            types: scope.types,
            hidden: scope.hidden,
            ignored: scope.ignored,
            max_depth: scope.max_depth.map(|depth| depth as usize),
        }
    }
}

impl From<wit::Text> for Text {
    fn from(text: wit::Text) -> Self {
        Self {
            pattern: text.pattern,
            literal: text.literal,
            letter_case: text.letter_case.into(),
            words: text.words,
            multiline: text.multiline,
            encoding: text.encoding,
            before: text.before as usize,
            after: text.after as usize,
            width: text.width as usize,
            files_only: text.files_only,
        }
    }
}

impl From<wit::Filter> for Filter {
    fn from(filter: wit::Filter) -> Self {
        Self {
            kind: filter.kind.map(Into::into),
            min_size: filter.min_size,
            max_size: filter.max_size,
            since: filter.since_ms.map(unix_time::from_ms),
            until: filter.until_ms.map(unix_time::from_ms),
            newest_first: filter.newest_first,
        }
    }
}

impl From<FileMatches> for wit::FileMatches {
    fn from(file: FileMatches) -> Self {
        Self {
            path: file.path.to_string_lossy().into_owned(),
            matches: file.matches,
            lines: file.lines.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<Matches> for wit::Matches {
    fn from(matches: Matches) -> Self {
        Self {
            files: matches.files.into_iter().map(Into::into).collect(),
            total_files: matches.total_files,
            total_matches: matches.total_matches,
            searched: matches.searched,
            unreadable: matches.unreadable,
            more: matches.more,
        }
    }
}

impl From<FoundFile> for wit::FoundFile {
    fn from(file: FoundFile) -> Self {
        Self {
            path: file.path.to_string_lossy().into_owned(),
            kind: file.kind.into(),
            size: file.size,
            modified_ms: unix_time::to_ms(file.modified),
        }
    }
}

impl From<Found> for wit::Found {
    fn from(found: Found) -> Self {
        Self {
            files: found.files.into_iter().map(Into::into).collect(),
            total: found.total,
            unreadable: found.unreadable,
            more: found.more,
        }
    }
}
