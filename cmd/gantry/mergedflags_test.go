package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestBlobsFlag checks what --blobs and the flags that it replaces set, and contradictions.
func TestBlobsFlag(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"":                              "",
		"--blobs sample":                "",
		"--blobs check":                 "check",
		"--check-blobs":                 "check",
		"--blobs=read":                  "read",
		"--read-blobs":                  "read",
		"--blobs repair":                "repair",
		"--repair-missing":              "repair",
		"--blobs check,repair":          "repair",
		"--blobs repair,read":           "read repair",
		"--repair-missing --read-blobs": "read repair",
		"--check-blobs=false":           "",
		"--blobs none":                  `--blobs "none"; use sample, check, read, repair, or read,repair`,
		"--blobs sample,read":           `--blobs "sample,read"; use sample, check, read, repair, or read,repair`,
		"--blobs=":                      `--blobs ""; use sample, check, read, repair, or read,repair`,
		"--blobs read --check-blobs":    "--blobs and --check-blobs both set how blobs are checked; leave --check-blobs out",
	} {
		var b blobFlags
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		b.addFlags(f)
		if err := f.Parse(strings.Fields(args)); err != nil {
			t.Errorf("%s: %v", args, err)
			continue
		}
		var got []string
		if err := b.resolve(); err != nil {
			got = []string{errorLine(err)}
		} else {
			for _, is := range []struct {
				word string
				set  bool
			}{{"check", b.check}, {"read", b.read}, {"repair", b.repair}} {
				if is.set {
					got = append(got, is.word)
				}
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s is %q, want %q", args, got, want)
		}
	}
}

// TestVerifiedBlobsFlag checks --blobs of commands where it was a switch.
func TestVerifiedBlobsFlag(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"docker://m":               "",
		"--blobs docker://m":       "requested",
		"--blobs=true docker://m":  "requested",
		"--blobs=check docker://m": "requested",
		"--blobs=0 docker://m":     "",
		"--blobs=read docker://m":  "read",
		"--read-blobs docker://m":  "read",
		"--blobs read docker://m":  "--blobs read: the value needs the character =; write --blobs=read",
		"--blobs=repair":           `invalid argument "repair" for "--blobs" flag: nothing is changed here: use gantry mirror --blobs=repair`,
		"--blobs=all":              `invalid argument "all" for "--blobs" flag: use --blobs=check or --blobs=read`,
	} {
		var b verifiedBlobs
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		b.addFlags(f, "blobs")
		err := f.Parse(strings.Fields(args))
		if err == nil {
			err = b.checkArgs(f.Args())
		}
		got := ""
		switch {
		case err != nil:
			got = errorLine(err)
		case b.requested():
			got = "requested"
		case b.readAll():
			got = "read"
		}
		if got != want {
			t.Errorf("%s is %q, want %q", args, got, want)
		}
	}
}

// TestBaseFlag checks what --base and the flags that it replaces set, and contradictions.
func TestBaseFlag(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"site", "a.json", "b.json"} {
		fail.On(t, os.WriteFile(name, nil, 0o600))
	}
	type result struct {
		Since    string
		Full     bool
		Receipts []string
		Error    string
	}
	for args, want := range map[string]result{
		"":                            {},
		"--base auto":                 {},
		"--base none":                 {Full: true},
		"--full":                      {Full: true},
		"--base 2":                    {Since: "2"},
		"--since 2":                   {Since: "2"},
		"--base 2026-10-01":           {Since: "2026-10-01"},
		"--base 2026-10-01T10:00:00Z": {Since: "2026-10-01T10:00:00Z"},
		"--base site":                 {Receipts: []string{"site"}},
		"--base a.json --base b.json": {Receipts: []string{"a.json", "b.json"}},
		"--receipt a.json":            {Receipts: []string{"a.json"}},
		"--base ./2":                  {Receipts: []string{"./2"}},
		"--base lost.json":            {Receipts: []string{"lost.json"}}, // reading it gives the error
		"--base nine":                 {Error: `--base "nine": there is no such file; use auto, none, the sequence or date of an archive, or the file of a receipt`},
		"--base 1 --base 2":           {Error: "--base 1 cannot be combined with another --base; give it alone; only the files of receipts can be combined"},
		"--base site --base auto":     {Error: "--base auto cannot be combined with another --base; give it alone; only the files of receipts can be combined"},
		"--base 2 --full":             {Error: "--base and --full both set what the archive omits; set one of the two"},
		"--since 2 --receipt site":    {Error: "--since and --receipt both set what the archive omits; set one of the two"},
		"--base=":                     {Error: "--base is empty; leave it out, or give it a value"},
		"--since=":                    {Error: "--since is empty; leave it out, or give it a value"},
		"--repair x --base none":      {Error: "--repair cannot be combined with --base; leave it out"},
	} {
		var b baseFlags
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		b.addFlags(f)
		repair := f.String("repair", "", "")
		if err := f.Parse(strings.Fields(args)); err != nil {
			t.Errorf("%s: %v", args, err)
			continue
		}
		got := result{}
		if err := b.resolve(*repair); err != nil {
			got.Error = errorLine(err)
		} else {
			got = result{Since: b.since, Full: b.full, Receipts: b.receipts}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", args, diff)
		}
	}
}
