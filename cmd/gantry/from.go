package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/carry"
	"github.com/gantry-mirror/gantry/plan"
)

// openArchive opens the archive in the folders of --from, if it is signed as it has to
// be: that of a sequence, 0 for the newest. On a terminal, it asks for the media of
// volumes that are missing.
func (a *app) openArchive(f *mirrorFlags, sequence int) (*archive.Archive, error) {
	opts, err := a.reading(&f.trust)
	if err != nil {
		return nil, err
	}
	opts.Sequence = sequence
	if _, ok := onTerminal(f.stdin); ok {
		opts.Ask = func(missing []string) (string, error) {
			return a.askFolder(f, "missing:\n  "+strings.Join(missing, "\n  "))
		}
	}
	dirs := make([]string, 0, len(f.from))
	for _, from := range f.from {
		dirs = append(dirs, strings.TrimPrefix(from, fileScheme))
	}
	have, err := archive.OpenWith(opts, dirs...)
	if errors.Is(err, os.ErrNotExist) {
		return nil, usagef("--from: %w", err)
	}
	if err == nil && have.Locked() != nil {
		return nil, errors.Join(have.Locked(), have.Close())
	}
	return have, refusal(err)
}

// onTerminal is a reader as a terminal, where it is one.
func onTerminal(in io.Reader) (*os.File, bool) {
	f, ok := in.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// askFolder asks on the terminal for another folder, which is read from then on as if
// --from had named it. It is "" where the user has none.
func (a *app) askFolder(f *mirrorFlags, what string) (string, error) {
	in, _ := onTerminal(f.stdin)
	a.say("%s", what)
	state, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return "", fmt.Errorf("asking for a folder: %w", err)
	}
	screen := struct {
		io.Reader
		io.Writer
	}{in, a.stderr}
	dir, err := term.NewTerminal(screen, "Folder that has it (nothing to give up): ").ReadLine()
	if err != nil {
		err = unanswered(screen, err)
	}
	if err := errors.Join(err, term.Restore(int(in.Fd()), state)); err != nil {
		return "", err
	}
	dir = strings.TrimPrefix(strings.TrimSpace(dir), fileScheme)
	if dir != "" {
		f.from = append(f.from, fileScheme+dir)
	}
	return dir, nil
}

// fit makes sure, before anything is copied, that what the archive leaves out is in the
// other archives that it builds on or at the mirror. On a terminal, it asks for the
// folders of others; the archive of the chain is then another one.
func (a *app) fit(ctx context.Context, f *mirrorFlags, s *session, t target, have *archive.Archive, p *plan.Plan) (*carry.Chain, error) {
	var site *carry.Site
	if r := t.registry(); r != nil {
		site = &r.site
	}
	opts := carry.FitOptions{
		From: f.from,
		Say:  func(text string) { a.say("%s", text) },
		Warn: func(text string) { a.warn("%s", text) },
	}
	if _, ok := onTerminal(f.stdin); ok {
		opts.More = func(problem error, sequence int) (*archive.Archive, []string, error) {
			dir, err := a.askFolder(f, problem.Error())
			if err != nil || dir == "" {
				return nil, nil, err
			}
			more, err := a.openArchive(f, sequence)
			return more, f.from, err
		}
	}
	return carry.Fit(ctx, s.Workspace, have, p, site, opts)
}
