package main

import (
	"bytes"
	"compress/gzip"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // the format deb
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // the format rpm
)

// own are the files that only packages have: their scripts and the settings of a site.
//
//go:embed files
var own embed.FS

const description = `Mirrors Kubernetes operators, releases and charts to air-gapped clusters
Gantry reads an ImageSetConfiguration, resolves it to a plan, and copies
exactly that plan to a mirror registry, or to a disk and from there to the
registry.`

// An installed file has the name that it has where a package installs it.
type installed struct {
	file
	kind string // its type in packages; "" is a usual file
}

// writePackages writes the deb and the rpm of a platform.
func (r *release) writePackages(p platform, c *contents) error {
	for _, format := range []string{"deb", "rpm"} {
		if err := r.writePackage(p, c, format); err != nil {
			return fmt.Errorf("writing the %s: %w", format, err)
		}
	}
	return nil
}

// writePackage writes a package. Its files are written to a folder first, since nfpm reads them from there.
func (r *release) writePackage(p platform, c *contents, format string) error {
	stage, err := os.MkdirTemp("", "gantry-package-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(stage) }()
	all, err := r.installed(c, format)
	if err != nil {
		return err
	}
	info := &nfpm.Info{
		Name: "gantry", Arch: p.arch, Platform: p.os, Version: r.version, Release: "1", Section: "admin", Priority: "optional",
		Maintainer: r.maintainer, Description: description, Homepage: homepage, License: ownLicense, MTime: r.modified, DisableGlobbing: true,
		Overridables: nfpm.Overridables{
			Recommends: []string{"ca-certificates"},
			RPM:        nfpm.RPM{BuildHost: "localhost"}, // it would be the name of this machine
		},
	}
	for i, f := range all {
		source := filepath.Join(stage, fmt.Sprint(i))
		if err := os.WriteFile(source, f.data, f.mode); err != nil {
			return err
		}
		info.Contents = append(info.Contents, &files.Content{
			Source: source, Destination: f.name, Type: f.kind, FileInfo: &files.ContentFileInfo{Mode: f.mode, MTime: r.modified},
		})
	}
	for name, to := range map[string]*string{
		"postinstall.sh": &info.Scripts.PostInstall, "preremove.sh": &info.Scripts.PreRemove, "postremove.sh": &info.Scripts.PostRemove,
	} {
		text, err := own.ReadFile("files/" + name)
		if err != nil {
			return err
		}
		*to = filepath.Join(stage, name)
		if err := os.WriteFile(*to, text, 0o644); err != nil {
			return err
		}
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	info = nfpm.WithDefaults(info)
	_, err = r.create(packager.ConventionalFileName(info), func(w io.Writer) error { return packager.Package(info, w) })
	return err
}

// installed returns the files that a package installs.
func (r *release) installed(c *contents, format string) (all []installed, err error) {
	settings, err := own.ReadFile("files/gantry.yaml")
	if err != nil {
		return nil, err
	}
	all = append(all, installed{file{"/etc/gantry/gantry.yaml", 0o644, settings}, files.TypeConfigNoReplace})
	add := func(dir string, some ...file) {
		for _, f := range some {
			all = append(all, installed{file{path.Join(dir, f.name), f.mode, f.data}, ""})
		}
	}
	add("/usr/bin", c.programs...)
	for _, f := range c.manuals {
		if f, err = compressed(f); err != nil {
			return nil, err
		}
		add("/usr/share/man/man1", f)
	}
	for _, f := range c.shells {
		if f.name, err = completionFile(f.name, format); err != nil {
			return nil, err
		}
		if f.name != "" {
			add("/usr/share", f)
		}
	}
	add("/usr/share/doc/gantry", c.bills...)
	for _, f := range c.texts {
		if f.name == "LICENSE" && format == "deb" {
			f.name = "copyright"
		}
		add("/usr/share/doc/gantry", f)
	}
	for dir, names := range map[string][]string{
		"/usr/lib/systemd/system": {"gantry-mirror@.service", "gantry-mirror@.timer"}, "/usr/lib/sysusers.d": {"gantry.conf"},
	} {
		units, err := readFiles(filepath.Join(r.source, "docs/deploy/systemd"), names...)
		if err != nil {
			return nil, err
		}
		add(dir, units...)
	}
	return all, nil
}

// completionFile returns where a package has the completion for a shell, below /usr/share; "" if it has none.
func completionFile(name, format string) (string, error) {
	switch name {
	case "gantry.bash":
		return "bash-completion/completions/gantry", nil
	case "gantry.fish":
		return "fish/vendor_completions.d/gantry.fish", nil
	case "_gantry":
		if format == "deb" {
			return "zsh/vendor-completions/_gantry", nil
		}
		return "zsh/site-functions/_gantry", nil
	case "gantry.ps1":
		return "", nil // PowerShell has no folder for completions
	}
	return "", fmt.Errorf("%s is not the completion for a known shell", name)
}

// compressed returns a manual page as packages have it.
func compressed(f file) (file, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return f, err
	}
	_, err = z.Write(f.data)
	err = errors.Join(err, z.Close())
	return file{f.name + ".gz", f.mode, b.Bytes()}, err
}
