//! Folder names equal those that the client gives.

use annals_transcript::project::folder_name;

#[test]
fn folder_names_are_the_clients() {
    let table = include_str!("project-names.tsv");
    let rows: Vec<_> = table.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(rows.len() >= 18, "the table is there");
    for row in rows {
        let (path, name) = row.split_once('\t').expect("two columns");
        assert_eq!(folder_name(path), name, "{path}");
    }
}
