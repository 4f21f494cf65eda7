package main

import "github.com/spf13/pflag"

// sinceFlags are the flags for what an archive omits.
type sinceFlags struct {
	since   string
	full    bool
	receipt string
	set     *pflag.FlagSet // nil for a command without the flags
}

func (s *sinceFlags) addFlags(f *pflag.FlagSet) {
	s.set = f
	f.StringVar(&s.since, "since", "", "omit the content of archives up to this sequence (2) or date (2026-10-01), which the site imported")
	f.BoolVar(&s.full, "full", false, "write an archive with all content, including the content of earlier archives")
	f.StringVar(&s.receipt, "receipt", "", "omit the content in this receipt, which gantry mirror --from wrote at the site")
}

// check returns an error if a flag is empty, as with an unset variable of a script.
func (s *sinceFlags) check() error {
	for _, name := range []string{"since", "receipt"} {
		if s.set != nil && s.set.Changed(name) && s.set.Lookup(name).Value.String() == "" {
			return usageHint("leave it out, or give it a value", "--%s is empty", name)
		}
	}
	return nil
}
