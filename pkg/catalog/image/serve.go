package image

// Directory is where the image has its file-based catalog, "/configs"; "" if it
// has none.
func (i *Image) Directory() string {
	if i.kind != FileBased {
		return ""
	}
	return "/" + i.dir
}

// BinaryLess says that the image has no program for one of its platforms at
// least. A CatalogSource must then have grpcPodConfig.extractContent.
func (i *Image) BinaryLess() bool {
	for _, p := range i.platforms {
		if len(p.command.argv()) == 0 {
			return true
		}
	}
	return false
}
