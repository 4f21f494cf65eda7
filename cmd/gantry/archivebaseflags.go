package main

import (
	"errors"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/ocmirror"
)

// baseFlags are the flags for what an archive omits. The flags of earlier versions are not listed in
// help.
type baseFlags struct {
	bases    []string
	since    string
	full     bool
	receipts []string
	set      *pflag.FlagSet
}

// The flag, and its values that are neither an archive nor a receipt.
const (
	baseFlag = "base"
	baseAuto = "auto"
	baseNone = "none"
)

func (b *baseFlags) addFlags(f *pflag.FlagSet) {
	b.set = f
	repeatable(f, &b.bases, baseFlag, "what an archive omits: auto (the content of earlier archives, the default), none, the content of archives up to this sequence (2) or date (2026-10-01), which the site imported, or the content in this receipt, a file that gantry mirror --from wrote at the site (may be repeated: one archive for several sites)")
	f.StringVar(&b.since, "since", "", "the same as --base SEQUENCE or --base DATE")
	f.BoolVar(&b.full, "full", false, "the same as --base none")
	repeatable(f, &b.receipts, "receipt", "the same as --base FILE")
	hideFlags(f, "since", "full", "receipt")
}

// hideFlags leaves flags of earlier versions out of help and completion.
func hideFlags(f *pflag.FlagSet, names ...string) {
	for _, name := range names {
		f.Lookup(name).Hidden = true
		f.Lookup(name).Annotations = map[string][]string{ocmirror.Earlier: {}}
	}
}

// archiveOrDate matches the number of an archive, or what begins like a date.
var archiveOrDate = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([0-9]+|[0-9]{4}-[0-9]{2}-[0-9]{2}(T.*)?)$`)
})

// resolve reads --base into the values of the other flags. It returns an error if they contradict each
// other or --repair, or if a flag is empty, as with an unset variable of a script.
func (b *baseFlags) resolve(repair string) error {
	if err := b.checkEmpty(); err != nil {
		return err
	}
	var given []string
	for _, name := range []string{baseFlag, "since", "full", "receipt"} {
		if b.set.Changed(name) {
			given = append(given, "--"+name)
		}
	}
	switch {
	case len(given) > 1:
		return usageHint("set one of the two", "%s and %s both set what the archive omits", given[0], given[1])
	case len(given) == 1 && repair != "":
		return usageHint("leave it out", "--repair cannot be combined with %s", given[0])
	}
	for _, base := range b.bases {
		switch {
		case base == baseAuto, base == baseNone, archiveOrDate().MatchString(base):
			if len(b.bases) > 1 {
				return usageHint("give it alone; only the files of receipts can be combined", "--%s %s cannot be combined with another --%s", baseFlag, base, baseFlag)
			}
			b.full = base == baseNone
			if base != baseAuto && base != baseNone {
				b.since = base
			}
		default:
			if _, err := os.Stat(base); errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(base, `/\.`) {
				return usageHint("use auto, none, the sequence or date of an archive, or the file of a receipt", "--%s %q: there is no such file", baseFlag, base)
			}
			b.receipts = append(b.receipts, base)
		}
	}
	return nil
}

// checkEmpty returns an error if a flag is empty.
func (b *baseFlags) checkEmpty() error {
	empty := b.set.Changed("since") && b.since == ""
	name := "since"
	for _, of := range []struct {
		name   string
		values []string
	}{{baseFlag, b.bases}, {"receipt", b.receipts}} {
		if slices.Contains(of.values, "") {
			empty, name = true, of.name
		}
	}
	if empty {
		return usageHint("leave it out, or give it a value", "--%s is empty", name)
	}
	return nil
}
