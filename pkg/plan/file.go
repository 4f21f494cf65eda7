package plan

import (
	"errors"
	"fmt"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/reference/fileartifact"
)

// A File is one file that is mirrored as an artifact. Its image has the kind FileImage.
type File struct {
	// Name is the name under which the file is found in the mirror: a relative path.
	Name string `json:"name"`
	// Origin is the address or the path of the file.
	Origin string `json:"origin"`
	// Source is the source of the image: FileScheme, then an http or https address, or LocalFile and a
	// path.
	Source string `json:"source"`
	// SHA256 and Size are those of the file; SHA256 is also the digest of the blob in the mirror.
	SHA256     digest.Digest `json:"sha256"`
	Size       int64         `json:"size"`
	Executable bool          `json:"executable,omitempty"`
	// Digest, Repository and Tag identify the artifact in the mirror.
	Digest     digest.Digest `json:"digest"`
	Repository string        `json:"repository"`
	Tag        string        `json:"tag"`
}

// FileScheme begins the sources of files. LocalFile follows it for files that are not downloaded.
const (
	FileScheme = "file+"
	LocalFile  = "local:"
)

// IsFileSource reports whether a source belongs to a file.
func IsFileSource(source string) bool { return strings.HasPrefix(source, FileScheme) }

// SourceText returns a source as messages name it: the address or path of a file after "file", and any other source
// as it is.
func SourceText(source string) string {
	rest, ok := strings.CutPrefix(source, FileScheme)
	if !ok {
		return source
	}
	return "file " + strings.TrimPrefix(rest, LocalFile)
}

// FileAddress returns the http or https address of the source of a file.
func FileAddress(source string) (address string, ok bool) {
	address, ok = strings.CutPrefix(source, FileScheme)
	return address, ok && (strings.HasPrefix(address, "https://") || strings.HasPrefix(address, "http://"))
}

// FilePath returns the path of the source of a local file.
func FilePath(source string) (path string, ok bool) {
	return strings.CutPrefix(source, FileScheme+LocalFile)
}

func checkFileSource(source string) error {
	_, web := FileAddress(source)
	_, local := FilePath(source)
	if !web && !local {
		return fmt.Errorf("the source %s does not belong to a file", nameOf(source))
	}
	return checkText("the source", source)
}

// Artifact returns the file as the artifact describes it.
func (f *File) Artifact() fileartifact.File {
	return fileartifact.File{Name: f.Name, Digest: f.SHA256, Size: f.Size, Executable: f.Executable}
}

func (f *File) check() error {
	errs := []error{
		fileartifact.CheckName(f.Name), checkText("the origin", f.Origin), checkFileSource(f.Source), checkDigest("the digest", f.Digest),
		checkDigest("the digest of the content", f.SHA256), CheckSize(f.SHA256, f.Size), checkTarget(f.Repository, f.Tag),
	}
	if f.SHA256.Algorithm() != digest.SHA256 {
		errs = append(errs, errors.New("the digest of its content is not a sha256"))
	}
	return in("file", f.Name, errs...)
}

// checkFiles checks that each file has its image, and that all can be written to one folder.
func (p *Plan) checkFiles() error {
	if len(p.Files) == 0 {
		return nil
	}
	contents, err := p.Contents()
	if err != nil {
		return err
	}
	var names fileartifact.Names
	artifacts := p.artifacts(FileImage)
	for _, f := range p.Files {
		if wrong := names.Add(f.Name); wrong != nil {
			return advice.Wrap(advice.Failure, wrong, "give one of them another target, and make the plan again")
		}
		if !artifacts[artifact{f.Source, f.Digest, f.Repository, f.Tag}] {
			return fmt.Errorf("file %s has no image in the plan", nameOf(f.Name))
		}
		found := false
		err := contents.Walk(f.Digest, func(*Manifest) error { return nil }, func(b Blob) error {
			found = found || b.Digest == f.SHA256 && b.Size == f.Size
			return nil
		})
		if err != nil || !found {
			return fmt.Errorf("the image of file %s has another content", nameOf(f.Name))
		}
	}
	return nil
}

// CompareFiles orders the files of a plan.
func CompareFiles(a, b File) int { return strings.Compare(a.Name, b.Name) }

// fileName returns the name of the file whose artifact an image is, "" for other images.
func (p *Plan) fileName(img *Image) string {
	if img.Kind != FileImage {
		return ""
	}
	for _, f := range p.Files {
		if f.Digest == img.Digest && f.Source == img.Source {
			return f.Name
		}
	}
	return ""
}
