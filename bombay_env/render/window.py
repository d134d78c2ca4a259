"""A window that shows frames, by pygame-ce (extra `human`), which is imported only here and only when a window is wanted."""

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import numpy as np
from gymnasium.error import DependencyNotInstalled

from bombay_env.render import shapes

TITLE: Final = "Bombay"
MAX_FRAMES: Final = 16  # shown in one window
SCREEN_SHARE: Final = 0.9  # of the screen that a new window may cover
NO_SCREEN: Final = "dummy"  # SDL's driver that shows nothing


class Window:
    """A window; it opens with the first frame. Each environment has its own.

    Once the reader has closed it, nothing more is shown.

    Raises:
        DependencyNotInstalled: pygame-ce is missing.
    """

    _open: ClassVar[dict[int, "Window"]] = {}

    def __init__(self) -> None:
        self._pygame = _pygame()
        self._window: Any = None
        self._clock: Any = None
        self.closed_by_reader = False

    def __reduce__(self) -> tuple[type["Window"], tuple[()]]:
        """Copies have a window of their own."""
        return Window, ()

    def show(self, frames: Sequence[np.ndarray], fps: float) -> None:
        """Show frames of equal shape, (h, w, 3) uint8, side by side, and wait until it is time for the next ones.

        Args:
            frames: the first 16 are shown, the smaller the more there are.
            fps: how often in a second there may be new frames; nobody waits where there is no screen.
        """
        if self.closed_by_reader:
            return
        picture = tiled(frames[:MAX_FRAMES])
        if self._window is None:
            self._begin(picture)
        self._draw(picture)
        self._look_for_closing()
        if not self.closed_by_reader and self._pygame.display.get_driver() != NO_SCREEN:
            self._clock.tick(fps)

    def close(self) -> None:
        """Close the window; nothing happens if there is none."""
        if self._window is not None:
            del Window._open[self._window.id]
            self._window.destroy()
            self._window = None
            if not Window._open:
                self._pygame.display.quit()

    def _begin(self, picture: np.ndarray) -> None:
        self._pygame.display.init()
        height, width, _ = picture.shape
        sizes = [size for size in self._pygame.display.get_desktop_sizes() if all(size)]
        across, down = sizes[0] if sizes else (width, height)
        scale = min(1.0, SCREEN_SHARE * across / width, SCREEN_SHARE * down / height)
        size = (round(scale * width), round(scale * height))
        self._window = self._pygame.Window(TITLE, size, resizable=True)
        self._clock = self._pygame.time.Clock()
        Window._open[self._window.id] = self

    def _draw(self, picture: np.ndarray) -> None:
        height, width, _ = picture.shape
        surface = self._window.get_surface()
        image = self._pygame.image.frombuffer(np.ascontiguousarray(picture), (width, height), "RGB")
        across, down = surface.get_size()
        scale = min(across / width, down / height)
        if scale != 1:
            image = self._pygame.transform.smoothscale(image, (round(scale * width), round(scale * height)))
        surface.fill(shapes.PAPER)
        surface.blit(image, ((across - image.get_width()) // 2, (down - image.get_height()) // 2))
        self._window.flip()

    def _look_for_closing(self) -> None:
        """Take all events; close the windows that readers have closed."""
        for event in self._pygame.event.get():
            if event.type == self._pygame.WINDOWCLOSE and event.window is not None:
                closing = Window._open.get(event.window.id)
                if closing is not None:
                    closing.closed_by_reader = True
                    closing.close()
                    if not Window._open:
                        return


def tiled(frames: Sequence[np.ndarray]) -> np.ndarray:
    """Frames of equal shape in a grid that is about as large as one of them; one frame as it is."""
    if len(frames) == 1:
        return frames[0]
    from PIL import Image

    columns = next(columns for columns in range(1, MAX_FRAMES + 1) if columns**2 >= len(frames))
    small = [np.asarray(Image.fromarray(frame).reduce(columns)) for frame in frames]
    height, width, _ = small[0].shape
    rows = -(-len(small) // columns)
    grid = np.zeros((rows * height, columns * width, 3), np.uint8)
    for number, frame in enumerate(small):
        top, left = number // columns * height, number % columns * width
        grid[top : top + height, left : left + width] = frame
    return grid


def _pygame() -> Any:
    try:
        import pygame

        pygame.Window  # noqa: B018 - the old pygame, which pygame-ce replaces, has none
    except (ImportError, AttributeError) as error:
        raise DependencyNotInstalled(
            "render_mode 'human' needs the extra `human`: in a checkout of bombay_env, run pip install '.[human]' "
            f"({error})"
        ) from None
    return pygame
