package main

import (
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/carry"
)

// sinceFlags say what an archive may leave out.
type sinceFlags struct {
	since   string
	full    bool
	receipt string
	set     *pflag.FlagSet // nil where there are no flags
}

func (s *sinceFlags) addFlags(f *pflag.FlagSet) {
	s.set = f
	f.StringVar(&s.since, "since", "", "leave out of the archive what a site has that imported this sequence (2), or the last before this date (2026-10-01), and nothing else")
	f.BoolVar(&s.full, "full", false, "write an archive with all content, also what earlier ones have")
	f.StringVar(&s.receipt, "receipt", "", "leave out of the archive what the site has by this receipt, which gantry mirror --from wrote there")
}

// check refuses the flags where no archive is written, two of them, and those that say
// nothing, as with a variable of a script that is not set.
func (s *sinceFlags) check(archive bool) error {
	for _, name := range []string{"since", "receipt"} {
		if s.set != nil && s.set.Changed(name) && s.set.Lookup(name).Value.String() == "" {
			return usageHint("leave it out, or say what the archive leaves out", "--%s is empty", name)
		}
	}
	var given []string
	for _, f := range []struct {
		name string
		set  bool
	}{{"--since", s.since != ""}, {"--full", s.full}, {"--receipt", s.receipt != ""}} {
		if f.set {
			given = append(given, f.name)
		}
	}
	switch {
	case len(given) > 0 && !archive:
		return usagef("%s is for file:// destinations", given[0])
	case len(given) > 1:
		return usageHint("give one of the two", "%s and %s both say what the archive leaves out", given[0], given[1])
	}
	_, err := s.choice()
	return err
}

// choice is what the flags say; --receipt without whose signature it needs.
func (s *sinceFlags) choice() (carry.Since, error) {
	c := carry.Since{Full: s.full, Text: s.since, Receipt: s.receipt}
	if s.since == "" {
		return c, nil
	}
	if n, err := strconv.Atoi(s.since); err == nil && n > 0 {
		c.Sequence = n
		return c, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if date, err := time.ParseInLocation(layout, s.since, time.Local); err == nil {
			c.Date = date
			return c, nil
		}
	}
	return c, usageHint("give the number of an archive, or a date such as 2026-10-01", "--since %q", s.since)
}
