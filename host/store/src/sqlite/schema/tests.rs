//! Tests of migrations.

use super::*;

#[test]
fn an_older_file_is_copied_and_brought_up_to_date() {
    let connection = Connection::open_in_memory().unwrap();
    migrate(&connection, &["CREATE TABLE a (x);"], |_| {
        panic!("there is nothing to copy")
    })
    .unwrap();
    let steps = [
        "CREATE TABLE a (x);",
        "CREATE TABLE b (y);",
        "CREATE INDEX c ON b (y);",
    ];
    let mut copied = None;
    let copy = |version| {
        copied = Some(version);
        Ok(())
    };
    migrate(&connection, &steps, copy).unwrap();
    assert_eq!(copied, Some(1));
    verify(&connection, &steps).unwrap();
    assert_eq!(number(&connection, "user_version").unwrap(), 3);
    migrate(&connection, &steps, |_| panic!("it is up to date")).unwrap();
    let newer = migrate(&connection, &steps[..2], |_| panic!("it is newer"));
    assert!(matches!(
        newer,
        Err(Fault::Newer {
            version: 3,
            known: 2
        })
    ));
}

#[test]
fn a_migration_that_fails_changes_nothing() {
    let connection = Connection::open_in_memory().unwrap();
    migrate(&connection, &["CREATE TABLE a (x);"], |_| Ok(())).unwrap();
    let steps = [
        "CREATE TABLE a (x);",
        "CREATE TABLE b (y); CREATE TABLE a (x);",
    ];
    migrate(&connection, &steps, |_| Ok(())).unwrap_err();
    _ = connection.execute_batch("ROLLBACK");
    verify(&connection, &steps[..1]).unwrap();
    let no_copy = || Err(Fault::Io(std::io::Error::other("the disk is full")));
    migrate(
        &connection,
        &["CREATE TABLE a (x);", "CREATE TABLE b (y);"],
        |_| no_copy(),
    )
    .unwrap_err();
    assert_eq!(number(&connection, "user_version").unwrap(), 1);
}
