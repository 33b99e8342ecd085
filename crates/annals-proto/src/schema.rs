//! JSON Schema of everything on the wire, made from the types and their comments.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::{
    AgentsParams, AgentsResult, AppendedNotice, ChangeResult, ChangedNotice, CheckResult, ContextParams,
    ContextUse, CopiesResult, DeleteResult, ErrorCode, ExportParams, ExportReport, FileParams, FileResult,
    FilesResult, ForkParams, ForkResult, Insight, InsightParams, LineageResult, ListParams, ListResult,
    LoadParams, LoadResult, LocateParams, LocateResult, Method, NoParams, OneSessionParams, PartParams,
    PartResult, ProjectsParams, ProjectsResult, ReadParams, ReadResult, RecordPart, RenameParams,
    RepairResult, RestoreParams, RowsParams, RowsResult, SearchParams, SearchResult, Session, SessionParams,
    SkeletonParams, SkeletonResult, Stats, StatsParams, StatusResult, TagParams, ToolsParams, ToolsResult,
    TrashResult, TurnsParams, TurnsResult, UnwatchParams, UnwatchResult, UsageParams, UsageResult,
    WatchParams, WatchResult, notification,
};

/// Returns the schema of the protocol: for every method its parameters and its result, for every notification its
/// parameters, the error codes, and the types that they are made of.
pub fn schema() -> Value {
    let mut generators = Generators {
        params: SchemaSettings::draft2020_12().for_deserialize().into_generator(),
        results: SchemaSettings::draft2020_12().for_serialize().into_generator(),
    };
    let methods: Map<_, _> =
        Method::ALL.iter().map(|method| (method.name().to_owned(), generators.method(*method))).collect();
    let notifications = json!({
        notification::CHANGED: generators.results.subschema_for::<ChangedNotice>(),
        notification::APPENDED: generators.results.subschema_for::<AppendedNotice>(),
    });
    // Elements of `parts`, which may be anything that is in a file.
    let _ = generators.results.subschema_for::<RecordPart>();
    // What `POST /export` takes, and the last line of its answer.
    let _ = generators.both::<ExportParams, ExportReport>();
    let codes: Vec<i64> = ErrorCode::ALL.iter().map(|code| code.number()).collect();
    let mut types = generators.params.take_definitions(true);
    types.extend(generators.results.take_definitions(true));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The history protocol of annals",
        "methods": methods,
        "notifications": notifications,
        "errorCodes": codes,
        "$defs": types,
    })
}

struct Generators {
    params: SchemaGenerator,
    results: SchemaGenerator,
}

impl Generators {
    fn method(&mut self, method: Method) -> Value {
        let (params, result) = match method {
            Method::HistoryList => self.both::<ListParams, ListResult>(),
            Method::HistorySession => self.both::<OneSessionParams, Session>(),
            Method::HistoryLoad => self.both::<LoadParams, LoadResult>(),
            Method::HistoryRead => self.both::<ReadParams, ReadResult>(),
            Method::HistoryProjects => self.both::<ProjectsParams, ProjectsResult>(),
            Method::HistoryStats => self.both::<StatsParams, Stats>(),
            Method::HistoryUsage => self.both::<UsageParams, UsageResult>(),
            Method::HistoryInsight => self.both::<InsightParams, Insight>(),
            Method::HistoryContext => self.both::<ContextParams, ContextUse>(),
            Method::HistoryTools => self.both::<ToolsParams, ToolsResult>(),
            Method::HistoryTurns => self.both::<TurnsParams, TurnsResult>(),
            Method::HistoryAgents => self.both::<AgentsParams, AgentsResult>(),
            Method::HistoryCheck => self.both::<OneSessionParams, CheckResult>(),
            Method::HistoryRepair => self.both::<OneSessionParams, RepairResult>(),
            Method::HistoryLineage => self.both::<OneSessionParams, LineageResult>(),
            Method::HistoryCopies => self.both::<NoParams, CopiesResult>(),
            Method::HistoryFiles => self.both::<OneSessionParams, FilesResult>(),
            Method::HistoryFile => self.both::<FileParams, FileResult>(),
            Method::HistorySkeleton => self.both::<SkeletonParams, SkeletonResult>(),
            Method::HistoryRows => self.both::<RowsParams, RowsResult>(),
            Method::HistoryPart => self.both::<PartParams, PartResult>(),
            Method::HistoryLocate => self.both::<LocateParams, LocateResult>(),
            Method::HistorySearch => self.both::<SearchParams, SearchResult>(),
            Method::HistoryRename => self.both::<RenameParams, ChangeResult>(),
            Method::HistoryTag => self.both::<TagParams, ChangeResult>(),
            Method::HistoryArchive | Method::HistoryUnarchive => self.both::<SessionParams, ChangeResult>(),
            Method::HistoryFork => self.both::<ForkParams, ForkResult>(),
            Method::HistoryDelete => self.both::<SessionParams, DeleteResult>(),
            Method::HistoryRestore => self.both::<RestoreParams, ChangeResult>(),
            Method::HistoryTrash => self.both::<NoParams, TrashResult>(),
            Method::HistoryWatch => self.both::<WatchParams, WatchResult>(),
            Method::HistoryUnwatch => self.both::<UnwatchParams, UnwatchResult>(),
            Method::HistoryStatus => self.both::<NoParams, StatusResult>(),
        };
        json!({ "params": params, "result": result })
    }

    fn both<P: JsonSchema, R: JsonSchema>(&mut self) -> (Schema, Schema) {
        (self.params.subschema_for::<P>(), self.results.subschema_for::<R>())
    }
}
