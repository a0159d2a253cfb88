// Package store keeps providers' objects in one JSON file. Tests read it, and edit it to change objects outside flightdeck.
// Several processes may share the file.
package store

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"sync"
	"syscall"
)

// Kept is one object in the file.
type Kept struct {
	Revision int64             `json:"revision"`
	Text     string            `json:"text"`
	Fields   map[string]string `json:"fields,omitempty"`
}

// Store reads and writes the whole file at every call, so that changes from outside are visible at once.
type Store struct {
	path string
	lock sync.Mutex
}

// At returns the store in the file with this path.
func At(path string) *Store { return &Store{path: path} }

func (s *Store) read() (map[string]Kept, error) {
	objects := map[string]Kept{}
	if s == nil || s.path == "" {
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

// Get returns the object of this id, and whether it exists.
func (s *Store) Get(id string) (Kept, bool, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	objects, err := s.read()
	object, there := objects[id]
	return object, there, err
}

// Change applies an edit to all objects and replaces the file atomically.
func (s *Store) Change(edit func(map[string]Kept)) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.path != "" {
		// Closing the file releases the lock.
		others, err := os.OpenFile(s.path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return err
		}
		defer others.Close()
		if err := syscall.Flock(int(others.Fd()), syscall.LOCK_EX); err != nil {
			return err
		}
	}
	objects, err := s.read()
	if err != nil {
		return err
	}
	edit(objects)
	text, err := json.MarshalIndent(objects, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(s.path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(s.path+".new", s.path)
}

// Put writes one object.
func (s *Store) Put(id string, object Kept) error {
	return s.Change(func(objects map[string]Kept) { objects[id] = object })
}

// Delete removes one object; a missing one is no error.
func (s *Store) Delete(id string) error {
	return s.Change(func(objects map[string]Kept) { delete(objects, id) })
}
