package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"sync"
)

// kept is one object as the file holds it.
type kept struct {
	Revision int64  `json:"revision"`
	Text     string `json:"text"`
}

// store reads and writes the whole file at every call: what somebody else changes in it is seen at once.
type store struct {
	path string
	lock sync.Mutex
}

func (s *store) read() (map[string]kept, error) {
	objects := map[string]kept{}
	if s.path == "" {
		return nil, errors.New("the provider's configuration names no file for its objects")
	}
	text, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return objects, nil
	}
	if err != nil {
		return nil, err
	}
	return objects, json.Unmarshal(text, &objects)
}

// get answers with the object of this id and whether there is one.
func (s *store) get(id string) (kept, bool, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	objects, err := s.read()
	object, there := objects[id]
	return object, there, err
}

// change applies an edit to all objects and writes them.
func (s *store) change(edit func(map[string]kept)) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	objects, err := s.read()
	if err != nil {
		return err
	}
	edit(objects)
	text, err := json.MarshalIndent(objects, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(s.path, text, 0o600)
}
