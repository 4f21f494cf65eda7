package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/pkg/page"
)

// A reportFlag is the file of a page for people; "" if none was requested.
type reportFlag string

// addFlag adds --report. what is the content of the page.
func (r *reportFlag) addFlag(f *pflag.FlagSet, what string) {
	f.StringVar((*string)(r), "report", "", "write "+what+" to this file as an HTML page, which needs no network and no server")
}

// check returns an error if the file cannot be written, before a long run finds out. others are files that the run also
// writes.
func (r reportFlag) check(others ...string) error {
	path := string(r)
	if path == "" {
		return nil
	}
	for _, other := range others {
		if other != "" && filepath.Clean(other) == filepath.Clean(path) {
			return usageHint("name another file", "--report %s is the file of another result", path)
		}
	}
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return usageHint("name a file in it, such as "+filepath.Join(path, "report.html"), "--report %s is a folder", path)
	}
	if _, err := os.Stat(filepath.Dir(path)); os.IsNotExist(err) {
		return usageHint("create it, or name another file", "the folder %s of --report does not exist", filepath.Dir(path))
	}
	return nil
}

// write writes the page, if one was requested and made.
func (r reportFlag) write(a *app, d *page.Document) error {
	if r == "" || d == nil {
		return nil
	}
	for i := range d.Sections {
		messages := d.Sections[i].Messages
		for j := range messages {
			messages[j].Text, messages[j].More = flagNames(messages[j].Text), flagNames(messages[j].More)
		}
	}
	if err := page.WriteFile(string(r), d); err != nil {
		return err
	}
	path, err := filepath.Abs(string(r))
	if err != nil {
		return err
	}
	a.say("page written to %s; open it in a browser", path)
	return nil
}
