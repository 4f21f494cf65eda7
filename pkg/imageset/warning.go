package imageset

import "fmt"

// A warning is a problem of a file that is read nevertheless.
type warning struct {
	Problem
	// unusable is set if the text cannot be used: a configuration with it is read, but not planned.
	unusable bool
	// fix corrects the YAML nodes of the file, so that it is read the same without the warning. It is
	// nil if there is no other way to write it.
	fix func()
}

// warn reports text at path that is read, but should be corrected. fix may be nil.
func (r *reader) warn(path, message string, fix func()) {
	r.warnAt(r.at[path].Position, path, warning{Problem: Problem{Message: message}, fix: fix})
}

// unusable reports text at path that cannot be used. oc mirror reads it and fails when it is used.
func (r *reader) unusable(path, message, hint string) {
	r.warnAt(r.at[path].Position, path, warning{Problem: Problem{Message: message, Hint: hint}, unusable: true})
}

func (r *reader) warnAt(pos Position, path string, w warning) {
	switch {
	case r.stopped:
		return
	case len(r.warnings) == maxWarnings:
		r.stop(pos, fmt.Sprintf("more than %d warnings; the rest was not read", maxWarnings), "use fewer aliases, or remove repeated entries")
		return
	}
	if r.value {
		pos.File = r.file // the message has the path
	}
	w.Pos = pos
	if path != "" {
		w.Message = path + ": " + w.Message
	}
	r.warnings = append(r.warnings, w)
}

// willFail is the end of the hint of a warning about text that cannot be used.
const willFail = "planning will fail"

// problemsOf returns the warnings as problems, in order.
func problemsOf(all []warning) []Problem {
	var problems []Problem
	for _, w := range all {
		p := w.Problem
		if w.unusable {
			p.Hint = joinHints(p.Hint, willFail)
		}
		problems = append(problems, p)
	}
	return problems
}

func joinHints(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// unusableOf returns the warnings about text that cannot be used.
func unusableOf(all []warning) []Problem {
	var problems []Problem
	for _, w := range all {
		if w.unusable {
			problems = append(problems, w.Problem)
		}
	}
	return problems
}
