package main

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/mirror"
)

// showResult prints what was done on stdout, and what was not on stderr. notesAt says where the notes of
// the plan are, and pullFlags are the flags of gantry get for the destination.
func (a *app) showResult(r *mirroring.Result, notesAt string, pullFlags []string) error {
	if a.events != nil {
		a.events.Summary(r)
	}
	nameFlagsInReplaced(r.Replaced)
	if a.output == outputJSON {
		return a.encode(r)
	}
	a.sayFailed(r.Report)
	if text := view.WithheldLater(r); text != "" {
		a.warn("%s", text)
	}
	a.say("%s", view.Transfer(r.Transfer))
	absoluteResources(r.Resources)
	r.Destination = absolute(r.Destination)
	if err := a.text(view.Mirrored(r, notesAt, pullFlags)); err != nil {
		return err
	}
	if r.Pruned != nil {
		for _, text := range view.DeletionFailures(r.Pruned.Deleted) {
			a.warn("%s", text)
		}
		return a.text("\n" + view.Pruned(r.Pruned))
	}
	return nil
}

// showRefused prints what was refused as JSON. The warnings and the error are its text.
func (a *app) showRefused(r *mirroring.Result) error {
	nameFlagsInReplaced(r.Replaced)
	if a.output == outputJSON {
		return a.encode(r)
	}
	if r.Report != nil { // images failed before
		a.sayFailed(r.Report)
	}
	return nil
}

// sayFailed lists what is not at the destination.
func (a *app) sayFailed(report *mirror.Report) {
	for _, text := range view.Failures(report) {
		a.warn("%s", text)
	}
}

// showRepair prints which repair was written.
func (a *app) showRepair(result *mirroring.Result) error {
	r := view.Repair{Version: 1, Destination: result.Destination, Repaired: result.Repaired}
	return a.result(r, r.Text)
}

// pullFlags returns the flags with which gantry get reaches the destination as this run did.
func (f *mirrorFlags) pullFlags() (flags []string) {
	add := func(name, value string) {
		if value != "" {
			flags = append(flags, "--"+name, value)
		}
	}
	switch o := &f.options; {
	case strings.HasPrefix(o.Destination, env.RegistryScheme):
		if o.MaxNestedPaths > 0 {
			add("max-nested-paths", strconv.Itoa(o.MaxNestedPaths))
		}
		add("authfile", cmp.Or(f.Destination.AuthFile, f.AuthFile))
		add("cert-dir", cmp.Or(f.Destination.CertDir, f.CertDir))
		add("limits", f.Limits)
		if f.Destination.SkipTLSVerify {
			flags = append(flags, "--src-tls-verify=false")
		}
		if f.Destination.PlainHTTP {
			flags = append(flags, "--src-plain-http")
		}
	case strings.HasPrefix(o.Destination, env.ArchiveScheme):
		if f.sign.key != "" {
			add(verifyKeyFlag, "KEY.pub")
		}
		if len(f.to) > 0 {
			add(identityFlag, "KEY.txt")
		}
	}
	return flags
}
