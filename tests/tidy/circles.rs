//! Modules that are beside each other do not import each other in circles. The compiler allows that, and no lint looks for it.

use std::collections::{BTreeMap, BTreeSet};

use super::{crates, sources};

/// Returns the folders of the sources of each crate of the host.
fn folders() -> Vec<String> {
    let folders = crates("host").into_iter().chain(["host".to_owned()]);
    folders.map(|folder| format!("{folder}/src/")).collect()
}

/// The modules of a crate by their paths, each with the paths that it names.
type Modules = BTreeMap<Vec<String>, Vec<Vec<String>>>;

/// Adds the paths of a tree of imports: those of `a::{b, c::d}` are `a::b` and `a::c::d`.
fn expand(prefix: &str, tree: &str, paths: &mut Vec<Vec<String>>) {
    let Some((head, branches)) = tree.split_once('{') else {
        let path = format!("{prefix}{}", tree.split(" as ").next().unwrap());
        let names = path.split("::").map(|name| name.trim().to_owned());
        return paths.push(names.filter(|name| name != "self").collect());
    };
    let (mut depth, mut branch) = (0, String::new());
    for char in branches.chars() {
        depth += i32::from(char == '{') - i32::from(char == '}');
        if depth >= 0 && (depth > 0 || char != ',') {
            branch.push(char);
        } else if !branch.trim().is_empty() {
            expand(&format!("{prefix}{}", head.trim()), &branch, paths);
            branch.clear();
        }
    }
}

/// Returns the module in which a path ends that a module names, through the imports of the modules on the way.
fn resolve(modules: &Modules, at: &[String], path: &[String], depth: u8) -> Option<Vec<String>> {
    let mut here = at.to_vec();
    for (index, name) in path.iter().enumerate() {
        let child = [here.as_slice(), std::slice::from_ref(name)].concat();
        match name.as_str() {
            "crate" => here.clear(),
            "super" => _ = here.pop(),
            _ if modules.contains_key(&child) => here = child,
            _ => {
                let mut imports = modules[&here].iter().filter(|_| depth > 0);
                let import = imports.find(|import| import.last() == Some(name) && *import != path);
                return match import {
                    Some(import) => {
                        let rest = [import, &path[index + 1..]].concat();
                        resolve(modules, &here, &rest, depth - 1)
                    }
                    None => (index > 0).then_some(here),
                };
            }
        }
    }
    Some(here)
}

/// Modules that are beside each other do not need each other, neither directly nor through others.
#[test]
fn modules_have_no_circles() {
    for folder in folders() {
        let mut modules = Modules::new();
        for source in sources()
            .iter()
            .filter(|source| !source.path.contains("/tests"))
        {
            let Some(file) = source.path.strip_prefix(&folder) else {
                continue;
            };
            let (mut paths, code) = (Vec::new(), source.code());
            for tree in code.split("use ").skip(1) {
                expand("", tree.split(';').next().unwrap(), &mut paths);
            }
            let words = code.split(|char: char| !char.is_alphanumeric() && !"_:".contains(char));
            for word in
                words.filter(|word| word.starts_with("crate::") || word.starts_with("super::"))
            {
                expand("", word.trim_end_matches(':'), &mut paths);
            }
            let module = file.trim_end_matches(".rs").split('/').map(str::to_owned);
            modules.insert(module.filter(|name| name != "lib").collect(), paths);
        }
        let mut needs = BTreeSet::new();
        for (module, paths) in &modules {
            for needed in paths
                .iter()
                .filter_map(|path| resolve(&modules, module, path, 9))
            {
                let same = module
                    .iter()
                    .zip(&needed)
                    .take_while(|(one, other)| one == other);
                let level = same.count();
                if let (Some(one), Some(other)) = (module.get(..=level), needed.get(..=level)) {
                    needs.insert((one.to_vec(), other.to_vec()));
                }
            }
        }
        // A module is in no circle if it needs none of those that are left, or none of those needs it.
        for _ in 0..modules.len() {
            let (needing, needed): (BTreeSet<_>, BTreeSet<_>) = needs.iter().cloned().unzip();
            needs.retain(|(one, other)| needed.contains(one) && needing.contains(other));
        }
        assert!(needs.is_empty(), "circles in {folder}: {needs:?}");
    }
}
