package main

import (
	"slices"

	"github.com/spf13/pflag"
)

// sinceFlags are the flags for what an archive omits.
type sinceFlags struct {
	since    string
	full     bool
	receipts []string
	set      *pflag.FlagSet // nil for a command without the flags
}

func (s *sinceFlags) addFlags(f *pflag.FlagSet) {
	s.set = f
	f.StringVar(&s.since, "since", "", "omit the content of archives up to this sequence (2) or date (2026-10-01), which the site imported")
	f.BoolVar(&s.full, "full", false, "write an archive with all content, including the content of earlier archives")
	repeatable(f, &s.receipts, "receipt", "omit the content in this receipt, which gantry mirror --from wrote at the site (may be repeated: one archive for several sites)")
}

// check returns an error if a flag is empty, as with an unset variable of a script.
func (s *sinceFlags) check() error {
	var empty string
	switch {
	case s.set != nil && s.set.Changed("since") && s.since == "":
		empty = "since"
	case slices.Contains(s.receipts, ""):
		empty = "receipt"
	default:
		return nil
	}
	return usageHint("leave it out, or give it a value", "--%s is empty", empty)
}
