// Package lint finds the settings of a GPU job in scripts, manifests and environments
// and says which of them do nothing, do harm or stop the job.
//
//	file ──detect──► kind ──reader of the kind──► []Setting ──judge──► []Finding
//
// A reader knows the grammar of its kind of file as far as settings go and nothing
// about GPUs; the judge knows the tables of the catalog (settings.tsv, env.tsv,
// env-prefixes.tsv, env-rules.tsv) and nothing about files. A reader that meets
// something it cannot follow (a value made by a command, an envFrom) leaves the value
// unknown or makes a note; it never guesses, for a linter that cries wolf is switched
// off. Names of other people's variables are nobody's business: only a name that
// begins as the variables of a known component, or that is one slip away from a known
// name, is judged.
//
// A level says what is certain. error: the job cannot work with it; warning: it costs
// time, hides something or does nothing; notice: worth knowing, no reason to stop.
package lint
