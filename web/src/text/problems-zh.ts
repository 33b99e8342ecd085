/** What checks find and why repairs change something, in Chinese; in English, the sentences of the server are shown. Loaded with the page that shows them. */
import type { ProblemCode, ProblemDetails, RepairCode } from '../wire.ts';

const n = (count: number | null | undefined) => (count ?? 0).toLocaleString('zh');

type Words = (details: ProblemDetails) => string;
const unlisted = 'Claude Code 的列表不显示此会话；`--resume ID` 可以找到它';
const free = '没有损失';
export const harmless = '没有丢失消息：Claude Code 会照样恢复对话';

/** Of each code, what is wrong and what is lost because of it. */
export const problems: Record<ProblemCode, readonly [problem: string | Words, effect: string | Words]> = {
  blank: ['空行', free], nul: ['NUL 字节代替了文字', '这里的内容从未写入'], nul_prefix: ['对象前有 NUL 字节', 'Claude Code 会丢失此条目；annals 可以读取'], glued: ['对象接在同一行的其他字节后面', 'Claude Code 会丢失此条目；annals 可以读取'],
  trailing: ['对象后面还有其他内容', '没有损失：前面的对象可以读取'], torn: ['最后一行不完整', '写入者停止时正在写的条目丢失了'], unclosed: ['对象没有在本行结束', '此条目丢失了'], headless: ['对象的开头丢失了', '此条目丢失了'],
  syntax: ['不是有效的 JSON', '此条目丢失了'], not_object: ['不是 JSON 对象', '这里读不到任何条目'], garbage: ['完全不是 JSON', '这里读不到任何条目'], byte_order_mark: ['开头有字节顺序标记', 'Claude Code 可以读取此行，它的 SDK 会丢失它'],
  carriage_returns: ['各行以 CR LF 结尾', '没有损失：另一个程序改写了行尾'], no_final_newline: ['末尾没有换行', '不检查就追加的程序会把自己的行接在这一行后面'], invalid_utf8: ['有不是 UTF-8 的字节', '显示为 U+FFFD，原样保留'],
  no_entries: ['整个文件没有条目', '它不是会话记录，或者已经什么都不剩'],
  missing_field: [({ name }) => `消息没有有效的 \`${name}\``, ({ name, costs }) => (costs === false ? '没有损失：对话不在这里结束' : FIELDS[name ?? ''] ?? '没有可以恢复的内容')],
  lost_root: ['消息与上文的联系丢失了', 'Claude Code 可能看不到此消息之前的内容'], first_prompt_copy: ['首个提示的副本', 'Claude Code 从这里开始读取对话'], parentless_prompts: ['没有上文的提示，与此文件的所有提示一样', 'Claude Code 可能看不到此消息之前的内容'],
  same_uuid: [({ line }) => `与第 ${n(line)} 行的 uuid 相同`, ({ costs }) => (costs ? 'Claude Code 只使用另一行的内容' : '没有损失：两行内容相同')],
  parent_missing: ['消息的上一条不在文件中', linkEffect], no_parent: ['消息没有指明上一条', linkEffect], own_parent: ['消息的上一条是它自己', linkEffect], circle: ['消息接在后面的消息上', linkEffect], progress_parent: ['消息的上一条是 Claude Code 找不到的 `progress` 行', linkEffect],
  lost: [({ count, line }) => `到第 ${n(line)} 行为止，Claude Code 会丢失 ${n(count)} 条消息`, '恢复的会话不知道它们'], not_resumable: [({ name }) => `Claude Code 不会恢复此会话：${obstacle(name)}`, '此会话无法继续'],
  newer_branch: [({ count }) => `对话旁边有一个 ${n(count)} 条消息的分支`, 'Claude Code 继续对话时不包括它'], call_without_result: ['调用没有结果', 'Claude Code 会略去此调用'], result_without_call: ['结果没有对应的调用', 'Claude Code 会略去此结果'],
  repeated_call: ['调用的标识与另一个相同', 'Claude Code 会略去第二个调用及其结果'], repeated_result: ['同一调用的第二个结果', '没有损失：Claude Code 发送第一个'], sent_twice: [({ count }) => `${n(count)} 条消息的第二份副本`, 'Claude Code 会发送两份，并丢弃标识重复的调用'],
  refused: [({ name }) => rule(name), 'API 会拒绝此请求，以及此会话之后的每个请求'], future_times: [({ count }) => `${n(count)} 条消息的时间在未来`, '在那之前，列表一直把此会话显示为最新'], ancient_times: [({ count }) => `${n(count)} 条消息的时间早于 Claude Code 出现`, '列表显示错误的开始时间'],
  backward_times: [({ count }) => `${n(count)} 条消息早于它们的上一条`, '时钟被调过，或者行被移动过；时长不准确'], unlisted_file_name: ['文件名不是 UUID', unlisted], unlisted_sidechain: ['第一行属于子代理', unlisted], unlisted_prompt: ['首个提示没有在前 64 KiB 内结束', unlisted],
  unlisted_spacing: ['JSON 中有 Claude Code 不会写的空白', unlisted], no_session: ['子代理的记录没有对应的会话', '无法看出这些工作属于哪个会话'], output_gone: [({ count }) => `${n(count)} 个存放工具输出的文件已丢失`, '只剩下输出的开头'],
  large: [({ count }) => `${n(Math.floor((count ?? 0) / 1_048_576))} MiB 的会话记录`, 'Claude Code 不读取最后一次压缩之前的内容，并且只读取一个分支'], open_to_others: [({ count }) => `本机所有用户都能读取 ${n(count)} 份会话记录`, '他们能看到其中的提示、文件和机密；Claude Code 写的文件只有所有者能读取'],
  shared_folder: [({ paths }) => `${(paths ?? []).join('、')} 共用一个文件夹`, '在其中一个目录里运行 `claude --continue` 会继续另一个目录的会话'],
  cleanup: [({ count, days }) => `${n(count)} 个会话已有 ${n(days)} 天没有改动`, ({ from }) => (from ? `Claude Code 在 ${from} 之后启动时会直接删除这样的会话` : 'Claude Code 下次启动时会直接删除这样的会话')],
};

function linkEffect({ costs }: ProblemDetails): string {
  return costs === false ? '没有更多损失：Claude Code 会恢复之前还剩下的内容' : 'Claude Code 会丢失它之前的内容';
}

const FIELDS: Record<string, string> = { uuid: 'Claude Code 不会加载此消息', parentUuid: 'Claude Code 看不到此消息之前的内容', timestamp: 'Claude Code 拒绝恢复在这里结束的对话' };

const RULES: Record<string, string> = {
  'first-user': '对话以回答开头', 'blank-text': '没有可见字符的文字', 'block-type': 'API 不认识的内容块类型', 'document-source': '没有来源的文档', 'call-id': '调用的标识含有 API 不接受的字符', 'call-name': '工具名含有 API 不接受的字符', 'call-input': '调用的输入不是对象',
  'error-result-empty': '失败的结果没有内容', 'result-content': '结果既不是文字也不是内容块', 'thinking-signature': '思考没有有效的签名', 'redacted-data': '隐藏的思考没有数据', 'thinking-last': '回答以思考结尾', 'image-data': '无法解码的图片', 'image-media-type': '图片的类型与声明不符',
  'image-size': '图片超过 5 MB', 'image-dimensions': '图片的像素太多', 'request-size': '请求超过 32 MB',
};

const OBSTACLES: Record<string, string> = { no_conversation: '没有可以继续的消息', sidechain: '最后一条消息属于子代理', no_time: '最后一条消息没有有效的时间' };

/** A rule of the API in words; one that a newer server adds keeps its name. */
export function rule(name: string | null | undefined): string {
  return RULES[name ?? ''] ?? name ?? '';
}

export function obstacle(name: string | null | undefined): string {
  return OBSTACLES[name ?? ''] ?? name ?? '';
}

export const repairs: Record<RepairCode, string> = {
  unreadable: 'Claude Code 读不了它所在的行；它会另写一行', parent_missing: '它的上一条不在文件中；它接在前一条消息后面', no_parent: '它没有指明上一条；它接在前一条消息后面', circle: '它接在后面的消息上；它接在前一条消息后面', progress_parent: '它的上一条是 Claude Code 找不到的 `progress` 行',
  lost_compaction: '它所属的压缩丢失了', order: '它会放到前一条消息后面，这样才会发送', behind_result: '它接在代替丢失结果的条目后面', behind_note: '它接在关于丢失开头的说明后面', no_time: '它没有有效的时间；它会得到前一条的时间', sidechain: '它被标为子代理的，但属于此对话',
  refused: '包含它的请求会被拒绝', thinking: '它的思考会被移除：API 只接受跟在原来消息后面的思考', thinking_unwanted: '它的思考会被移除，因为使用了 `--strip-thinking`', lost_result: '一个调用的结果丢失了；会用一条说明代替，这样调用才会发送',
  lost_prompt: '对话以回答开头；会用一条说明代替首个提示', copy: '它是对话中一条消息的副本，会被发送两次', boundary: '压缩保留的消息改为由上一条连接', leaf: '它是最后一条消息；它会成为最后一行，这样 Claude Code 从它继续',
};
