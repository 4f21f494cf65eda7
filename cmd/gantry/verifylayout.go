package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/layout"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/plan"
)

// verifiedLayout is what gantry verify --output json prints of a layout.
type verifiedLayout struct {
	Version int    `json:"version"`
	Layout  string `json:"layout"`
	*mirror.LayoutState
}

// verifyLayout reads the layout in dir and compares it with a plan; nil is what it
// lists itself.
func (a *app) verifyLayout(ctx context.Context, p *plan.Plan, dir string, streams int) error {
	l, err := layout.Open(dir)
	if errors.Is(err, os.ErrNotExist) {
		return &usageError{err}
	}
	if err != nil {
		return err
	}
	if _, err := l.Index(); err != nil {
		return &hintError{&mismatchError{err.Error()}, ": ", "mirror to it again to have it written anew"}
	}
	var total, done atomic.Int64
	stop := a.show("checking", func() progress.Reading {
		return progress.Reading{Total: total.Load(), Done: done.Load(), Moved: done.Load()}
	})
	state, err := mirror.VerifyLayout(ctx, l, p, streams, func(of, n int64) { total.Store(of); done.Add(n) })
	stop()
	if err != nil {
		return err
	}
	result := &verifiedLayout{Version: 1, Layout: ociScheme + dir, LayoutState: state}
	if a.output == outputJSON {
		err = a.encode(result)
	} else {
		err = a.text(result.table())
	}
	if err == nil && !state.Whole() {
		err = &hintError{&mismatchError{fmt.Sprintf("the layout in %s is not whole", dir)}, ": ", "mirror to it again with --check-blobs to bring what is lacking"}
	}
	return err
}

func (r *verifiedLayout) table() string {
	var b strings.Builder
	if r.Whole() {
		fmt.Fprintf(&b, "The layout in %s is whole: %s, %s, every byte as its digest says.\n", r.Layout, number(r.Images, "image", "images"), progress.Bytes(r.Bytes))
	}
	if len(r.Damage) > 0 {
		fmt.Fprintf(&b, "Damaged in %s\n", r.Layout)
	}
	for _, d := range r.Damage {
		fmt.Fprintf(&b, "  %s: %s\n", d.File, d.Problem)
		if len(d.Breaks) == 0 {
			b.WriteString("    no image holds it\n")
			continue
		}
		b.WriteString("    breaks\n")
		var names strings.Builder
		list(&names, d.Breaks)
		b.WriteString(strings.ReplaceAll("    "+strings.TrimSuffix(names.String(), "\n"), "\n", "\n    ") + "\n")
	}
	if len(r.Lacking) > 0 {
		fmt.Fprintf(&b, "Lacking in %s\n", r.Layout)
		var lines []string
		for _, l := range r.Lacking {
			lines = append(lines, l.Source+"\n      "+l.Problem)
		}
		list(&b, lines)
	}
	if n := len(r.Broken); n > 0 {
		fmt.Fprintf(&b, "%d of %d images are broken.\n", n, r.Images)
	}
	if n := len(r.LeftOut); n > 0 {
		fmt.Fprintf(&b, "%s not there, as of images of which not all platforms were chosen; -c, --plan or --from tells whether they should be.\n", number(n, "platform of an index is", "platforms of indexes are"))
	}
	return b.String()
}
