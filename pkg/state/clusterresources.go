package state

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/resources"
)

// resourceDir is the folder of the manifests for the first mirror of the workspace. The folders of
// other mirrors have the name of the mirror appended. Beside each folder is a list, NAME.txt, with
// the mirror and the files that Gantry wrote. Other files in the folder belong to the user.
const resourceDir = "cluster-resources"

// A resourcePlace is where the manifests for a mirror are, and where they will be.
type resourcePlace struct {
	dir string // where a run writes them
	// listed are the files that Gantry wrote there, and old those that it wrote to oldDir with another
	// layout.
	listed      []string
	oldDir      string
	old         []string
	hasResource bool // there is a list, perhaps an empty one
}

// files returns the paths of the files in the workspace.
func (p *resourcePlace) files() (names []string) {
	names = elements.Map(p.listed, func(name string) string { return p.dir + "/" + name })
	for _, name := range p.old {
		names = append(names, p.oldDir+"/"+name)
	}
	return names
}

// resourcesOf returns the place of the files for a mirror in a folder. prefix is the one of the folder.
func resourcesOf(read func(name string) ([]byte, error), prefix, folder, mirror string) (p resourcePlace, err error) {
	for _, name := range []string{folder, folder + "-" + mirror} {
		p, taken := resourcePlace{dir: prefix + name}, false
		for _, at := range []string{"", workingDir + "/"} {
			text, err := read(at + name + ".txt")
			if errors.Is(err, os.ErrNotExist) {
				continue
			}
			if err != nil {
				return p, advice.Wrap(advice.Failure, fmt.Errorf("reading %s, the list of earlier manifests: %w", at+name+".txt", err),
					hintFor(err, "remove it together with the folder "+at+name+"; the next run writes both again"))
			}
			lines := strings.Fields(string(text))
			switch {
			case len(lines) == 0 || lines[0] != mirror:
				taken = true
				continue
			case at == prefix:
				p.listed = lines[1:len(lines):len(lines)]
			default:
				p.oldDir, p.old = at+name, lines[1:len(lines):len(lines)]
			}
			p.hasResource = true
		}
		if p.hasResource || !taken {
			return p, nil
		}
	}
	return p, advice.New(advice.Failure, "remove it", "%s-%s.txt in the workspace is not the list of that folder", folder, mirror)
}

// resources returns the place of the manifests for a mirror.
func (w *Workspace) resources(mirror string) (resourcePlace, error) {
	return resourcesOf(w.readState, w.filePrefix(), resourceDir, mirror)
}

// ErrNoResources means that no resources were written for a mirror.
var ErrNoResources = errors.New("there are no cluster resources for it")

// maxResource is how many bytes of a manifest, or of the list of manifests, are read.
const maxResource = 64 << 20

// ReadResource reads one of the manifests for a mirror from the workspace in dir, without locking it.
// The mirror has the same name as for Records. If the workspace or its folder for the mirror does not
// exist, the error is ErrNoResources. If the file does not exist, the error matches fs.ErrNotExist
// and path is returned all the same. The list of files is not verified: it only says which folder
// belongs to the mirror.
func ReadResource(dir, mirror, name string) (path string, text []byte, err error) {
	root, folder, _, err := writtenIn(dir, resourceDir, mirror)
	if err != nil {
		return "", nil, err
	}
	text, err = regular.Read(root, folder+"/"+name, maxResource)
	return filepath.Join(dir, folder, name), text, errors.Join(err, root.Close())
}

// writtenIn returns the folder of the files that Gantry wrote for a mirror, in the workspace in dir, and their names. It does
// not lock the workspace. The caller closes root.
func writtenIn(dir, folder, mirror string) (root *os.Root, written string, names []string, err error) {
	if root, err = os.OpenRoot(dir); errors.Is(err, os.ErrNotExist) {
		return nil, "", nil, ErrNoResources
	}
	if err != nil {
		return nil, "", nil, fmt.Errorf("opening workspace %s: %w", dir, err)
	}
	at, err := resourcesOf(func(name string) ([]byte, error) { return regular.Read(root, name, maxResource) }, "", folder, mirror)
	switch {
	case err != nil:
	case !at.hasResource:
		err = ErrNoResources
	case at.oldDir != "":
		return root, at.oldDir, at.old, nil
	default:
		return root, at.dir, at.listed, nil
	}
	return nil, "", nil, errors.Join(err, root.Close())
}

// ListedResources returns the names of the manifests that the last run wrote for a mirror.
func (w *Workspace) ListedResources(mirror string) ([]string, error) {
	at, err := w.resources(mirror)
	return at.files(), err
}

// ResourcesDir returns the folder of the manifests for a mirror.
func (w *Workspace) ResourcesDir(mirror string) string {
	at, err := w.resources(mirror)
	if err != nil { // CheckResources returns it
		return ""
	}
	return filepath.Join(w.dir, at.dir)
}

// SavedResources returns the manifests that the last run wrote for a mirror, and the files that have the
// names of others. Files that the user removed are left out.
func (w *Workspace) SavedResources(mirror string, names []string) (files []resources.File, err error) {
	at, err := w.resources(mirror)
	if err != nil {
		return nil, err
	}
	all := at.files()
	for _, name := range names {
		all = append(all, at.dir+"/"+name)
	}
	return w.readResources(all), nil
}

// HasResource reports whether a file is in the folder of the manifests for a mirror.
func (w *Workspace) HasResource(mirror, name string) (bool, error) {
	at, err := w.resources(mirror)
	if err != nil {
		return false, err
	}
	info, err := w.disk.Root.Stat(at.dir + "/" + name)
	return err == nil && info.Mode().IsRegular(), nil
}

// readResources reads files of the workspace, if they exist.
func (w *Workspace) readResources(names []string) (files []resources.File) {
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		if !filepath.IsLocal(name) {
			continue
		}
		if text, err := regular.Read(w.disk.Root, name, maxResource); err == nil {
			files = append(files, resources.File{Name: name, Text: text})
		}
	}
	return files
}

// OtherResources returns the manifests of the other mirrors of the workspace, by folder.
func (w *Workspace) OtherResources(mirror string) (map[string][]resources.File, error) {
	mine, err := w.resources(mirror)
	if err != nil {
		return nil, err
	}
	all := map[string][]resources.File{}
	for _, prefix := range []string{"", workingDir + "/"} {
		lists, err := fs.Glob(w.disk.Root.FS(), prefix+resourceDir+"*.txt")
		if err != nil {
			return nil, err
		}
		for _, list := range lists {
			dir := strings.TrimSuffix(list, ".txt")
			if dir == mine.dir || dir == mine.oldDir {
				continue
			}
			text, err := w.readState(list)
			if err != nil {
				return nil, fmt.Errorf("reading %s, the list of manifests of another mirror: %w", list, err)
			}
			if lines := strings.Fields(string(text)); len(lines) > 0 {
				other := resourcePlace{dir: dir, listed: lines[1:]}
				all[filepath.Join(w.dir, dir)] = w.readResources(other.files())
			}
		}
	}
	return all, nil
}

// CheckResources returns the error that SaveResources would return because its list of earlier files
// cannot be read.
func (w *Workspace) CheckResources(mirror string) error {
	_, err := w.resources(mirror)
	return err
}

// SaveResources writes the manifests for a mirror and returns their folder. The mirror has the same
// name as for Records. File names may contain folders. Unchanged files are not written. Files of an
// earlier run that are not among files are removed and returned; folders that become empty are
// removed as well. So are all files that were written with another layout to another folder.
func (w *Workspace) SaveResources(mirror string, files []resources.File) (dir string, removed []string, err error) {
	return w.SaveFolder(resourceDir, mirror, files)
}

// SaveFolder writes files for a mirror to a folder of the workspace, as SaveResources does to
// cluster-resources.
func (w *Workspace) SaveFolder(folder, mirror string, files []resources.File) (dir string, removed []string, err error) {
	root := w.disk.Root
	at, err := resourcesOf(w.readState, w.filePrefix(), folder, mirror)
	if err != nil {
		return "", nil, err
	}
	if len(files) == 0 && !at.hasResource && folder != resourceDir {
		return "", nil, nil
	}
	dir = at.dir
	if err := w.disk.MkdirAll(dir); err != nil {
		return "", nil, fmt.Errorf("making %s: %w", dir, err)
	}
	names := resources.FileNames(files)
	// The list is written first: a listed file that does not exist does no harm, but a file that is
	// not on the list would stay forever.
	if err := w.listResources(dir, mirror, slices.Concat(at.listed, names)); err != nil {
		return "", nil, err
	}
	sums := map[string]string{}
	for _, f := range files {
		sums[dir+"/"+f.Name] = checksum(f.Text)
	}
	if err := w.sums.announce(sums); err != nil {
		return "", nil, err
	}
	for _, f := range files {
		name := dir + "/" + f.Name
		if err := w.disk.MkdirAll(path.Dir(name)); err != nil {
			return "", nil, fmt.Errorf("making the folder of %s: %w", name, err)
		}
		if err := w.replace(name, f.Text); err != nil {
			return "", nil, err
		}
		w.sums.confirm(name, sums[name])
	}
	if removed, err = w.removeResources(dir, at.listed, names); err != nil {
		return "", nil, err
	}
	if at.oldDir != "" {
		if _, err := w.removeResources(at.oldDir, at.old, nil); err != nil {
			return "", nil, err
		}
		_ = root.Remove(at.oldDir) // unless the user has files there
		if err := root.Remove(at.oldDir + ".txt"); err != nil {
			return "", nil, fmt.Errorf("removing a list of manifests: %w", err)
		}
	}
	return filepath.Join(w.dir, dir), removed, w.listResources(dir, mirror, names)
}

// removeResources removes the files of an earlier run in dir that are not in keep, and returns them.
func (w *Workspace) removeResources(dir string, earlier, keep []string) (removed []string, err error) {
	root := w.disk.Root
	for _, name := range earlier {
		if slices.Contains(keep, name) || !filepath.IsLocal(name) {
			continue
		}
		switch err := root.Remove(dir + "/" + name); {
		case err == nil:
			removed = append(removed, name)
			for folder := path.Dir(name); folder != "." && root.Remove(dir+"/"+folder) == nil; {
				folder = path.Dir(folder)
			}
		case !errors.Is(err, os.ErrNotExist):
			return removed, fmt.Errorf("removing a resource that no longer applies: %w", err)
		}
	}
	return removed, nil
}

func (w *Workspace) listResources(dir, mirror string, names []string) error {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	return w.keepText(dir+".txt", []byte(strings.Join(append([]string{mirror}, names...), "\n")+"\n"))
}

// replace writes a file unless it already has that text.
func (w *Workspace) replace(name string, text []byte) error {
	if have, err := regular.Read(w.disk.Root, name, int64(len(text))); err == nil && bytes.Equal(have, text) {
		return nil
	}
	return w.disk.WriteFile(name, text)
}
