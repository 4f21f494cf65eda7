package layout

import (
	"sync"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/file/durable"
)

// folders are the folders of blobs that are open, by algorithm. Below the folder of the layout, os.Root
// would open and close each folder on the way to every single blob.
type folders struct {
	mu   sync.Mutex
	open map[digest.Algorithm]durable.Folder
}

// folder returns the folder with the blobs of an algorithm. If it does not exist, the error matches
// fs.ErrNotExist.
func (l *Layout) folder(a digest.Algorithm) (durable.Folder, error) {
	l.folders.mu.Lock()
	defer l.folders.mu.Unlock()
	if f, ok := l.folders.open[a]; ok {
		return f, nil
	}
	return l.openFolder(a)
}

// createFolder is folder for one that does not exist, or was removed while it was open: a cache may be
// removed at any time.
func (l *Layout) createFolder(a digest.Algorithm) (durable.Folder, error) {
	l.folders.mu.Lock()
	defer l.folders.mu.Unlock()
	if err := l.disk.MkdirAll(blobDir(a)); err != nil {
		return durable.Folder{}, err
	}
	return l.openFolder(a)
}

func (l *Layout) openFolder(a digest.Algorithm) (durable.Folder, error) {
	root, err := l.root.OpenRoot(blobDir(a))
	if err != nil {
		return durable.Folder{}, err
	}
	f := durable.Folder{Root: root, NoSync: l.disk.NoSync}
	if l.folders.open == nil {
		l.folders.open = map[digest.Algorithm]durable.Folder{}
	}
	l.folders.open[a] = f // one that it replaces is closed with the last use
	return f, nil
}
