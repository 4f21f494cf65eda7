package archive

// These return the file names of a set that is not a repair.
func sumName(sequence int) string            { return setID{sequence: sequence}.sum() }
func volumeName(sequence, volume int) string { return setID{sequence: sequence}.volume(volume) }
func labelPath(sequence, volume int) string  { return setID{sequence: sequence}.label(volume) }
